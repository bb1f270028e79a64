import type { TypedCaller } from "../call/base-caller.js";
import type { ItemStream } from "../call/items/item-stream.js";
import { onAbort } from "../call/abort.js";
import { type CallOptions, cancelled } from "../call/options.js";
import { RpcError } from "../errors.js";
import type { UnsharedBytes } from "../platform-types.js";
import { type BlobCaller, Losses } from "./losses.js";
import { changedBlob, DIGEST_TRAILER, readBlob } from "./read-method.js";
import { createSha256, type Sha256 } from "./sha256.js";

/** Bytes that `bytes()` takes, unless it is told. */
const DEFAULT_BYTES = 16_777_216;

/** Options of reading a blob. */
export interface ReadBlobOptions {
  /** Called with the bytes that were taken, and all of them where that is known. Default: none. */
  readonly onProgress?: (bytes: number, length: number | undefined) => void;
  /** Stops it. Default: none. */
  readonly signal?: AbortSignal;
  /**
   * The bytes that this side has already, such as those of a file that was begun. They are read and hashed first; the sender sends what follows if its own
   * begin with the same, else it fails with `failed_precondition`. Default: none.
   */
  readonly after?: AsyncIterable<Uint8Array>;
}

/** Reference to a blob in a message of the peer: number, length, type, name, and the id where it is resumable. */
export type BlobReference = readonly [ref: number, length: number | null, type: string, name: string, id?: string];

/** Makes the call anew that the blob came with, and returns the one that comes now. */
type AskAnew = (signal: AbortSignal | undefined) => Promise<ReceivedBlob>;

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
  /**
   * Names the upload, where the blob is resumable: 32 hexadecimal digits, the same whenever the call is made anew. Its sender has chosen it, and who knows
   * it can go on with the upload. Undefined otherwise, and for downloads.
   */
  readonly id: string | undefined;
  readonly #session: TypedCaller;
  readonly #ref: number;
  readonly #maxBytes: number;
  readonly #digest: boolean;
  #resumption: { readonly caller: BlobCaller; readonly anew: AskAnew } | undefined = undefined;

  /**
   * @internal
   * @param digest the sender is asked for the digest of all
   */
  constructor(
    session: TypedCaller,
    [ref, length, type, name, id = ""]: BlobReference,
    maxBytes: number,
    digest: boolean,
  ) {
    if (id !== "" && !/^[0-9a-f]{32}$/.test(id))
      throw new RpcError("invalid_argument", "the id of a blob is 32 hexadecimal digits, by createBlobId()");
    this.id = id === "" ? undefined : id;
    this.#digest = digest;
    this.length = length ?? undefined;
    this.type = type;
    this.name = name;
    this.#session = session;
    this.#ref = ref;
    this.#maxBytes = maxBytes;
  }

  /** @internal After the loss of its session it is read on from the blob that `anew` asks for. */
  resumeBy(caller: BlobCaller, anew: AskAnew): void {
    this.#resumption = { caller, anew };
  }

  /** The bytes from the first on. A sender's `Blob` or function can be read again, its stream cannot; a read ends the one before. */
  stream({ signal, ...options }: ReadBlobOptions = {}): ReadableStream<UnsharedBytes> {
    const over = new AbortController();
    let forget: (() => void) | undefined;
    const chunks = this.#read({ ...options, signal: over.signal });
    return new ReadableStream<UnsharedBytes>(
      {
        async pull(controller) {
          forget ??= signal && onAbort(signal, () => over.abort(signal.reason));
          try {
            const { done, value } = await chunks.next();
            if (done !== true) return controller.enqueue(value);
          } catch (error) {
            forget?.();
            throw error;
          }
          forget?.();
          controller.close();
        },
        cancel(reason) {
          forget?.();
          // A generator ends after what it waits for: the signal ends that.
          over.abort(reason);
          chunks.return().catch(() => {});
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** The bytes for a loop, which costs less than a stream; leaving it stops the sender. */
  chunks(options: ReadBlobOptions = {}): AsyncGenerator<UnsharedBytes, void> {
    return this.#read(options);
  }

  /** Iterates over the bytes; leaving the loop stops the sender. */
  [Symbol.asyncIterator](): AsyncGenerator<UnsharedBytes, void> {
    return this.#read({});
  }

  /** All bytes. Rejects with `resource_exhausted` for more than `maxBytes` (16 MiB). */
  async bytes({
    maxBytes = DEFAULT_BYTES,
    ...options
  }: ReadBlobOptions & { readonly maxBytes?: number } = {}): Promise<UnsharedBytes> {
    if (this.length !== undefined && this.length > maxBytes) throw tooLarge(this.length, maxBytes);
    // One buffer, since a sender may give a byte at a time.
    let all = new Uint8Array(0);
    let size = 0;
    for await (const chunk of this.#read(options)) {
      const at = size;
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(size, maxBytes);
      if (size > all.length) {
        const larger = new Uint8Array(Math.min(Math.max(size, all.length * 2), this.length ?? maxBytes));
        larger.set(all);
        all = larger;
      }
      all.set(chunk, at);
    }
    return size === all.length ? all : all.slice(0, size);
  }

  async *#read({ onProgress, signal, after }: ReadBlobOptions): AsyncGenerator<UnsharedBytes, void> {
    const { length } = this;
    const resumption = this.#resumption;
    const keepsHash = this.#digest || resumption !== undefined;
    const hash = keepsHash || after !== undefined ? createSha256() : undefined;
    const options = signal === undefined ? {} : { signal };
    const losses = resumption && new Losses(resumption.caller, options);
    let taken = 0;
    for await (const chunk of after ?? []) {
      if (signal?.aborted === true) throw cancelled(signal);
      taken += chunk.length;
      hash?.update(chunk);
    }
    if (taken > (length ?? taken)) throw changedBlob(`it has ${length} bytes, of which ${taken} are there`);
    for (let lost = false; ; lost = true) {
      try {
        const source = lost && resumption !== undefined ? await resumption.anew(signal) : this;
        if (source.length !== length) throw changedBlob(`it had ${length} bytes, and has ${source.length}`);
        const stream = source.#begin(taken, hash, options);
        for await (const chunk of stream) {
          losses?.progressed();
          taken += chunk.length;
          if (taken > this.#maxBytes) throw tooLarge(taken, this.#maxBytes);
          if (length !== undefined && taken > length) break;
          if (keepsHash) hash?.update(chunk);
          yield chunk;
          onProgress?.(taken, length);
        }
        this.#check(taken, hash, stream.trailers.get(DIGEST_TRAILER));
        return;
      } catch (error) {
        if (losses === undefined) throw error;
        await losses.wait(error, options);
      } finally {
        losses?.onMade();
      }
    }
  }

  #begin(from: number, hash: Sha256 | undefined, options: CallOptions): ItemStream<UnsharedBytes> {
    const before = from > 0 && { from, ...(hash !== undefined && { sha256: hash.copy().hex() }) };
    return this.#session.start(readBlob, { ref: this.#ref, ...before, ...(this.#digest && { digest: true }) }, options);
  }

  /** Throws where what was taken is not all of the blob, or other than what was sent. */
  #check(taken: number, hash: Sha256 | undefined, sent: string | undefined): void {
    const { length } = this;
    if (length !== undefined && taken !== length) {
      const has = taken > length ? "more" : taken;
      throw new RpcError("data_loss", `the blob was said to have ${length} bytes, and has ${has}`);
    }
    if (!this.#digest) return;
    const own = hash?.hex();
    if (sent === own) return;
    const its = sent === undefined ? "its sender has told none" : `its sender's is ${sent}`;
    throw new RpcError("data_loss", `the blob's SHA-256 is ${own}, and ${its}`);
  }
}

/** The error of a blob that its receiver does not take. */
export function tooLarge(bytes: number, maxBytes: number): RpcError {
  const hint = "the schema's blob({ maxBytes }) and limits.maxBlobBytes say how large a blob may be";
  return new RpcError("resource_exhausted", `a blob of ${bytes} bytes or more: at most ${maxBytes} are taken here`, {
    hint,
  });
}
