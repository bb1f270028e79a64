import { unknownCompression } from "./expand.js";
import { type Compression, COMPRESSION_NUMBERS, type CompressionOptions } from "../contract/compression.js";
import { RpcError } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";
import { FLAG_COMPRESSED } from "../wire/frame.js";
import type { FrameReader } from "../wire/reader.js";
import type { FrameWriter } from "../wire/writer.js";

/** Messages of fewer bytes gain little. */
const MIN_BYTES = 1024;
/**
 * A message may decompress to at most `FREE_BYTES` plus `MAX_RATIO` times its compressed size, so that the cost of
 * decompression is proportional to the received bytes. A message that would shrink more than this is sent uncompressed.
 */
const FREE_BYTES = 4096;
const MAX_RATIO = 100;

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
   * Compresses the part of the frame started at `mark` from `start` on, if the peer supports that and the result is
   * shorter.
   *
   * @param wanted true: whatever its length; false: never; undefined: decided by length
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

  /** Creates the reader of a stream, if algorithms need one of their own. */
  reader(budget: MemoryBudget, stream: PausedStream): FrameReader | undefined {
    return this.#algorithms.find(isPaced)?.createReader(budget, stream);
  }
}

/** Most bytes that a message of `length` compressed bytes may have when it is decompressed. */
function mostOf(length: number): number {
  return FREE_BYTES + length * MAX_RATIO;
}

/** A stream whose reader may pause it: a channel. */
export interface PausedStream {
  /** Whether the peer opened it. */
  readonly accepted: boolean;
  /** The same for all streams of a session. */
  readonly compression: SessionCompression | undefined;
  readonly limits: { readonly maxFrameBytes: number };
  onData(chunk: Uint8Array): void;
  pause(): void;
  resume(): void;
}

/** An algorithm whose streams need a reader of their own. */
export interface PacedCompression extends Compression {
  createReader(budget: MemoryBudget, stream: PausedStream): FrameReader;
}

function isPaced(algorithm: Compression): algorithm is PacedCompression {
  return "createReader" in algorithm;
}
