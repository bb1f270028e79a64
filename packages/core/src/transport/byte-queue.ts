import { Fifo } from "../fifo.js";

/** Size of one piece in bytes, which is the most memory held beyond the bytes themselves. */
const PIECE = 16 * 1024;

/**
 * A queue of bytes that have arrived and are not yet read. They are copied into pieces of equal size: if the peer sent
 * single bytes, a queue of chunks would take a hundred times their size and would keep the packets in memory.
 */
export class ByteQueue {
  /** Bytes held. */
  bytes = 0;
  private readonly pieces: Fifo<Uint8Array> = new Fifo();
  /** The newest piece, while there is room in it. */
  private last: Uint8Array | undefined = undefined;
  private filled = 0;
  private readonly most: number;

  /** @param most bytes that are held at once */
  constructor(most: number = Number.POSITIVE_INFINITY) {
    this.most = most;
  }

  /** Appends the chunk. Throws if the queue would exceed its limit. */
  push(chunk: Uint8Array): void {
    if (this.bytes + chunk.length > this.most) {
      throw new Error(`the peer sent more than ${this.most} unread bytes (maxHeldBytes)`);
    }
    this.bytes += chunk.length;
    for (let rest = chunk; rest.length > 0; ) {
      let { last } = this;
      if (last === undefined) {
        this.last = last = new Uint8Array(PIECE);
        this.filled = 0;
        this.pieces.push(last);
      }
      const part = rest.subarray(0, PIECE - this.filled);
      last.set(part, this.filled);
      rest = rest.subarray(part.length);
      this.filled += part.length;
      if (this.filled === PIECE) this.last = undefined;
    }
  }

  /** Removes and returns the first piece; undefined if there is none. */
  shift(): Uint8Array | undefined {
    let piece = this.pieces.shift();
    if (piece === undefined) return undefined;
    if (piece === this.last) {
      piece = piece.subarray(0, this.filled);
      this.last = undefined;
    }
    this.bytes -= piece.length;
    return piece;
  }

  clear(): void {
    this.pieces.clear();
    this.last = undefined;
    this.bytes = 0;
  }
}
