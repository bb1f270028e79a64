import type { TypedCaller } from "../call/base-caller.js";
import { RpcError } from "../errors.js";
import type { UnsharedBytes } from "../platform-types.js";
import { readBlob } from "./read-method.js";

/** Bytes that `bytes()` and `text()` take, unless they are told. */
const DEFAULT_BYTES = 16_777_216;

/** Options of reading a blob. */
export interface ReadBlobOptions {
  /** Called with the bytes that were taken, and all of them where that is known. */
  readonly onProgress?: (bytes: number, length: number | undefined) => void;
  /** Stops it. */
  readonly signal?: AbortSignal;
}

/** What a message of the peer refers to a blob by: number, length, type, name. */
export type BlobReference = readonly [ref: number, length: number | null, type: string, name: string];

/**
 * A blob of the peer, which is read when somebody wants its bytes. That of an input can be read until its call is over, that of an output
 * for a minute, and to its end once it was begun.
 */
export class ReceivedBlob {
  /** Bytes; undefined where the sender does not know. What is shorter or longer fails as it is read. */
  readonly length: number | undefined;
  /** The media type that the sender says; empty where it says none. */
  readonly type: string;
  /** The file's name that the sender says; empty where it says none. Nobody has checked it: it is no path to write to. */
  readonly name: string;
  readonly #session: TypedCaller;
  readonly #ref: number;
  readonly #maxBytes: number;

  /** @internal */
  constructor(session: TypedCaller, [ref, length, type, name]: BlobReference, maxBytes: number) {
    this.length = length ?? undefined;
    this.type = type;
    this.name = name;
    this.#session = session;
    this.#ref = ref;
    this.#maxBytes = maxBytes;
  }

  /** The bytes from the first on. A sender's `Blob` or function can be read again, its stream cannot; a read ends the one before. */
  stream(options: ReadBlobOptions = {}): ReadableStream<Uint8Array> {
    const chunks = this.#read(options);
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await chunks.next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        },
        async cancel() {
          await chunks.return();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** The bytes for a loop, which costs less than a stream; leaving it stops the sender. */
  chunks(options: ReadBlobOptions = {}): AsyncGenerator<Uint8Array, void> {
    return this.#read(options);
  }

  /** Iterates over the bytes; leaving the loop stops the sender. */
  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    return this.#read({});
  }

  /** All bytes. Rejects with `resource_exhausted` for more than `maxBytes` (16 MiB). */
  async bytes({
    maxBytes = DEFAULT_BYTES,
    ...options
  }: ReadBlobOptions & { readonly maxBytes?: number } = {}): Promise<UnsharedBytes> {
    if (this.length !== undefined && this.length > maxBytes) throw tooLarge(this.length, maxBytes);
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of this.#read(options)) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(size, maxBytes);
      chunks.push(chunk);
    }
    const all = new Uint8Array(size);
    let at = 0;
    for (const chunk of chunks) {
      all.set(chunk, at);
      at += chunk.length;
    }
    return all;
  }

  async *#read({ onProgress, signal }: ReadBlobOptions): AsyncGenerator<Uint8Array, void> {
    const { length } = this;
    let taken = 0;
    const stream = this.#session.start(readBlob, { ref: this.#ref }, signal === undefined ? undefined : { signal });
    for await (const chunk of stream) {
      taken += chunk.length;
      if (taken > this.#maxBytes) throw tooLarge(taken, this.#maxBytes);
      if (length !== undefined && taken > length) break;
      yield chunk;
      onProgress?.(taken, length);
    }
    if (length === undefined || taken === length) return;
    throw new RpcError(
      "data_loss",
      `the blob was said to have ${length} bytes, and has ${taken > length ? "more" : taken}`,
    );
  }
}

/** The error of a blob that its receiver does not take. */
export function tooLarge(bytes: number, maxBytes: number): RpcError {
  const hint = "the schema's blob({ maxBytes }) and limits.maxBlobBytes say how large a blob may be";
  return new RpcError("resource_exhausted", `a blob of ${bytes} bytes or more: at most ${maxBytes} are taken here`, {
    hint,
  });
}
