import { Fifo } from "../fifo.js";

/** Size of one piece in bytes. The queue uses at most this much memory in addition to the bytes in it. */
const PIECE = 16 * 1024;

/**
 * A queue of received bytes that are not read yet. They are copied into pieces of equal size: if the peer sent single
 * bytes, a queue of chunks would use a hundred times as much memory and keep the received packets alive.
 */
export class ByteQueue {
  bytes = 0;
  private readonly pieces: Fifo<Uint8Array> = new Fifo();
  /** The newest piece, if it is not full. */
  private last: Uint8Array | undefined = undefined;
  private filled = 0;
  private readonly most: number;

  /** @param most maximum bytes in the queue */
  constructor(most: number = Number.POSITIVE_INFINITY) {
    this.most = most;
  }

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
