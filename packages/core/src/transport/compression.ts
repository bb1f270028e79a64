import { unknownCompression } from "./expand.js";
import { type Compression, COMPRESSION_NUMBERS, type CompressionOptions } from "../contract/compression.js";
import { RpcError } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";
import { TurnPace } from "../turn-pace.js";
import { FLAG_COMPRESSED } from "../wire/frame.js";
import { FrameReader, type FrameReceiver } from "../wire/reader.js";
import type { FrameWriter } from "../wire/writer.js";
import { joined } from "./joined.js";

/** Messages of fewer bytes gain little. */
const MIN_BYTES = 1024;
/**
 * A compressed message has at most `FREE_BYTES` and `MAX_RATIO` times its compressed bytes when it is decompressed. What
 * decompression costs then stays in proportion to what was received. A message that would shrink to less is not compressed.
 */
const FREE_BYTES = 4096;
const MAX_RATIO = 100;

/**
 * Decompressed messages of up to 1 KiB after which streams with further ones wait for another turn of the event loop. A
 * message costs 15 to 30 µs however small it is, because each needs a decompressor of its own.
 */
const TURN_MESSAGES = 500;
const NOTHING = new Uint8Array(0);

/** Shared by all sessions of a process. */
const pace: TurnPace = new TurnPace(TURN_MESSAGES);

/**
 * Compression of one session, in both directions. A compressed message is written into its frame as the number of the
 * algorithm (1 byte), followed by the algorithm's output.
 */
export class SessionCompression {
  /** Numbers of the algorithms that this side reads. */
  readonly numbers: readonly number[];
  readonly #algorithms: readonly Compression[];
  readonly #minBytes: number;
  readonly #maxBytes: number;
  /** An algorithm that the peer reads; undefined until its hello has arrived. */
  #chosen: Compression | undefined = undefined;

  /** @param maxBytes of a message that was compressed: `limits.maxDecompressedBytes` */
  constructor({ algorithms, minBytes = MIN_BYTES }: CompressionOptions, maxBytes: number) {
    this.#algorithms = algorithms;
    this.numbers = algorithms.map(({ name }) => COMPRESSION_NUMBERS[name]);
    this.#minBytes = minBytes;
    this.#maxBytes = maxBytes;
  }

  /** The peer reads the algorithms of these numbers. */
  onPeer(numbers: Uint8Array): void {
    this.#chosen = this.#algorithms.find(({ name }) => numbers.includes(COMPRESSION_NUMBERS[name]));
  }

  /**
   * Compresses what the frame begun at `mark` has from `start` on, if the peer reads it and it gets shorter.
   *
   * @param wanted true whatever its length, false not at all, undefined by its length
   */
  shrink(out: FrameWriter, mark: number, start: number, wanted: boolean | undefined): void {
    const chosen = this.#chosen;
    const length = out.position - start;
    if (chosen === undefined || wanted === false || (wanted === undefined && length < this.#minBytes)) return;
    const smaller = chosen.compress(out.buffer.subarray(start, out.position));
    if (smaller.length + 1 >= length || length > mostOf(smaller.length)) return;
    out.position = start;
    out.byte(COMPRESSION_NUMBERS[chosen.name]);
    out.bytes(smaller);
    out.flag(mark, FLAG_COMPRESSED);
  }

  /** Decompresses `bytes[start, end)`. Throws `RpcError` when it cannot be read, or is too large. */
  expand(bytes: Uint8Array, start: number, end: number): Uint8Array {
    const algorithm = this.#algorithms.find(({ name }) => COMPRESSION_NUMBERS[name] === bytes[start]);
    if (algorithm === undefined) throw unknownCompression(bytes, start, end);
    const most = Math.min(this.#maxBytes, mostOf(end - start - 1));
    let expanded = most;
    try {
      const message = algorithm.decompress(bytes.subarray(start + 1, end), most);
      expanded = message.length;
      return message;
    } catch (error) {
      if (error instanceof RangeError) {
        const limit = most < this.#maxBytes ? "100 times its compressed size" : "limits.maxDecompressedBytes";
        const text = `the message is larger than ${most} bytes (${limit})`;
        throw new RpcError("resource_exhausted", text, { cause: error });
      }
      throw new RpcError("invalid_argument", `the message is not ${algorithm.name} data`, { cause: error });
    } finally {
      pace.count(1, expanded);
    }
  }

  /** Creates the reader of a stream. */
  reader(budget: MemoryBudget, stream: PausedStream): FrameReader {
    return new PacedReader(budget, stream);
  }
}

/** Most bytes that a message of `length` compressed bytes may have when it is decompressed. */
function mostOf(length: number): number {
  return FREE_BYTES + length * MAX_RATIO;
}

/** The stream of a `PacedReader`: a channel. */
interface PausedStream {
  readonly limits: { readonly maxFrameBytes: number };
  onData(chunk: Uint8Array): void;
  pause(): void;
  resume(): void;
}

/** Leaves the rest of a chunk for another turn of the event loop if much was decompressed in this one. */
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
      this.#keep(joined(this.#rest, chunk.subarray(position)));
      return chunk.length;
    }
    const read = super.push(chunk, position, to);
    if (this.#rest !== undefined) {
      this.#keep(chunk.slice(read));
      this.#stream.pause();
      void pace.turn()?.then(() => this.#continue());
    }
    return chunk.length;
  }

  protected override emit(...frame: Parameters<FrameReader["emit"]>): void {
    const { left } = pace;
    super.emit(...frame);
    if (this.stopped || pace.left === left || pace.left > 0) return;
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
