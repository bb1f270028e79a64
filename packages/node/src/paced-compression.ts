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
 * Decompressed messages of up to 1 KiB after which streams with further ones wait for another turn of the event loop. A
 * message costs 15 to 30 µs however small it is, because each needs a decompressor of its own.
 */
const TURN_MESSAGES = 500;
const NOTHING = new Uint8Array(0);

/** Shared by all sessions of a process. */
const pace: TurnPace = new TurnPace(TURN_MESSAGES);

/** Returns the algorithm with a limit on the bytes that all sessions of a process decompress in one turn of the event loop. */
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
 * Leaves the rest of a chunk for another turn of the event loop if much was decompressed in this one. The rest is dropped
 * if its session ends meanwhile, so this side's own streams, which bring answers, are read at once.
 */
class PacedReader extends FrameReader {
  readonly #stream: PausedStream;
  readonly #memory: MemoryBudget;
  /** The rest; undefined unless the reader waits for another turn. */
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
