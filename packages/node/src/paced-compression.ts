import {
  type Compression,
  FrameReader,
  type FrameReceiver,
  type MemoryBudget,
  type PacedCompression,
  type PausedStream,
  TurnPace,
} from "@quicrpc/core/internal";

/**
 * Number of messages that are decompressed in one turn of the event loop, if each has up to 1 KiB; further ones wait
 * for the next turn. Each message needs its own decompressor, which costs 15 to 30 µs.
 */
const TURN_MESSAGES = 500;
const NOTHING = new Uint8Array(0);

/** Counts the work of the current turn of the event loop, for all sessions of the process. */
const pace: TurnPace = new TurnPace(TURN_MESSAGES);

/**
 * Returns `algorithm` with a limit on the bytes that all sessions of the process decompress in one turn of the event
 * loop.
 */
export function pacedCompression(algorithm: Compression): PacedCompression {
  return {
    name: algorithm.name,
    compress: (bytes) => algorithm.compress(bytes),
    decompress(bytes, maxBytes) {
      let expanded = maxBytes;
      try {
        const message = algorithm.decompress(bytes, maxBytes);
        expanded = message.length;
        return message;
      } finally {
        pace.count(1, expanded);
      }
    },
    createReader: (budget, stream) => new PacedReader(budget, stream),
  };
}

/**
 * Reads frames, and leaves the rest of a chunk for the next turn of the event loop if much was decompressed in this
 * one. Streams that this side opened are always read at once: they carry responses, which would be lost if the session
 * ended meanwhile.
 */
class PacedReader extends FrameReader {
  readonly #stream: PausedStream;
  readonly #memory: MemoryBudget;
  /** Bytes that are read in the next turn; undefined if the reader is not waiting. */
  #rest: Uint8Array | undefined = undefined;

  constructor(budget: MemoryBudget, stream: PausedStream) {
    super(stream.limits.maxFrameBytes, budget);
    this.#memory = budget;
    this.#stream = stream;
  }

  override stop(): void {
    this.#keep(undefined);
    super.stop();
  }

  override push(chunk: Uint8Array, position: number, to: FrameReceiver): number {
    if (this.#rest !== undefined) {
      this.#keep(Buffer.concat([this.#rest, chunk.subarray(position)]));
      return chunk.length;
    }
    const read = super.push(chunk, position, to);
    if (this.#rest !== undefined) {
      this.#keep(chunk.slice(read));
      this.#stream.pause();
      void pace.turn(this.#stream.compression)?.then(() => this.#continue());
    }
    return chunk.length;
  }

  protected override emit(...frame: Parameters<FrameReader["emit"]>): void {
    const { left } = pace;
    super.emit(...frame);
    if (this.stopped || !this.#stream.accepted || pace.left === left || pace.left > 0) return;
    this.#rest = NOTHING;
    this.stopped = true;
  }

  #continue(): void {
    const rest = this.#rest;
    if (rest !== undefined) {
      this.#keep(undefined);
      this.stopped = false;
      this.#stream.onData(rest);
    }
    this.#stream.resume();
  }

  #keep(rest: Uint8Array | undefined): void {
    this.#memory.release(this.#rest?.length ?? 0);
    this.#rest = rest;
    this.#memory.charge(rest?.length ?? 0);
  }
}
