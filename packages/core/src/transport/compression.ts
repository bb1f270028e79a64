import { unknownCompression } from "./expand.js";
import { type Compression, COMPRESSION_NUMBERS, type CompressionOptions } from "../contract/compression.js";
import { RpcError } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";
import { FLAG_COMPRESSED } from "../wire/frame.js";
import type { FrameReader } from "../wire/reader.js";
import type { FrameWriter } from "../wire/writer.js";

/** Minimum bytes of a message that is compressed by default. Smaller messages gain little. */
const MIN_BYTES = 1024;
/**
 * A message may decompress to at most `FREE_BYTES` plus `MAX_RATIO` times its compressed size, so that the cost of
 * decompression is proportional to the received bytes. A message that would shrink more than this is sent uncompressed.
 */
const FREE_BYTES = 4096;
const MAX_RATIO = 100;

/**
 * Compresses and decompresses the messages of one session. A compressed message consists of the number of the algorithm
 * (1 byte) and the algorithm's output.
 */
export class SessionCompression {
  /** Numbers of the algorithms that this side can decompress. */
  readonly numbers: readonly number[];
  readonly #algorithms: readonly Compression[];
  readonly #minBytes: number;
  readonly #maxBytes: number;
  /**
   * The algorithm with which this side compresses; undefined if the peer supports none, or has not sent its hello yet.
   */
  #chosen: Compression | undefined = undefined;

  /** @param maxBytes maximum bytes of a decompressed message: `limits.maxDecompressedBytes` */
  constructor({ algorithms, minBytes = MIN_BYTES }: CompressionOptions, maxBytes: number) {
    this.#algorithms = algorithms;
    this.numbers = algorithms.map(({ name }) => COMPRESSION_NUMBERS[name]);
    this.#minBytes = minBytes;
    this.#maxBytes = maxBytes;
  }

  /** Called with the numbers of the algorithms that the peer can decompress, when its hello has arrived. */
  onPeer(numbers: Uint8Array): void {
    this.#chosen = this.#algorithms.find(({ name }) => numbers.includes(COMPRESSION_NUMBERS[name]));
  }

  /**
   * Compresses the part from `start` of the frame that begins at `mark`, if the peer supports that and the result is
   * shorter.
   *
   * @param wanted true to compress regardless of the length, false not to compress; undefined to decide by length
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

  /** Decompresses `bytes[start, end)`. Throws `RpcError` if the data is invalid or the result is too large. */
  expand(bytes: Uint8Array, start: number, end: number): Uint8Array {
    const algorithm = this.#algorithms.find(({ name }) => COMPRESSION_NUMBERS[name] === bytes[start]);
    if (algorithm === undefined) throw unknownCompression(bytes, start, end);
    const most = Math.min(this.#maxBytes, mostOf(end - start - 1));
    try {
      return algorithm.decompress(bytes.subarray(start + 1, end), most);
    } catch (error) {
      if (error instanceof RangeError) {
        const limit = most < this.#maxBytes ? "100 times its compressed size" : "limits.maxDecompressedBytes";
        const text = `the message is larger than ${most} bytes (${limit})`;
        throw new RpcError("resource_exhausted", text, { cause: error });
      }
      throw new RpcError("invalid_argument", `the message is not ${algorithm.name} data`, { cause: error });
    }
  }

  /** Creates a stream's frame reader if an algorithm needs a special one; returns undefined otherwise. */
  reader(budget: MemoryBudget, stream: PausedStream): FrameReader | undefined {
    return this.#algorithms.find(isPaced)?.createReader(budget, stream);
  }
}

function mostOf(length: number): number {
  return FREE_BYTES + length * MAX_RATIO;
}

/** A stream that its frame reader may pause. Channels implement this interface. */
export interface PausedStream {
  readonly accepted: boolean;
  /** Compression of the session, the same object for all of its streams. */
  readonly compression: SessionCompression | undefined;
  readonly limits: { readonly maxFrameBytes: number };
  onData(chunk: Uint8Array): void;
  pause(): void;
  resume(): void;
}

/**
 * A compression algorithm that provides its own frame reader, which spreads decompression over several turns of the
 * event loop.
 */
export interface PacedCompression extends Compression {
  createReader(budget: MemoryBudget, stream: PausedStream): FrameReader;
}

function isPaced(algorithm: Compression): algorithm is PacedCompression {
  return "createReader" in algorithm;
}
