import { type CallOptions, type ItemStream, RpcError, type TypedCaller } from "@quicrpc/core";
import { cancelled, onAbort, type UnsharedBytes } from "@quicrpc/core/internal";
import { type BlobCaller, TransferRetries } from "./transfer-retries.js";
import { changedBlob, DIGEST_TRAILER, readBlob } from "./read-method.js";
import { createSha256, type Sha256 } from "./sha256.js";

/** Default maximum of `bytes()` in bytes. */
const DEFAULT_BYTES = 16_777_216;

/** Options for reading a blob. */
export interface ReadBlobOptions {
  /** Called with the number of bytes read so far, and the blob's length in bytes if it is known. Default: none. */
  readonly onProgress?: (bytes: number, length: number | undefined) => void;
  /** Aborts the read. Default: none. */
  readonly signal?: AbortSignal;
  /**
   * Bytes that this side already has, such as a partly written file. They are read and hashed first. If the sender's
   * blob begins with the same bytes, the sender sends only the rest; otherwise the read fails with
   * `failed_precondition`. Default: none.
   */
  readonly after?: AsyncIterable<Uint8Array>;
}

/**
 * Reference to a blob in a message: its number, length, media type, file name and, if the blob is resumable, the
 * upload's id.
 */
export type BlobReference = readonly [ref: number, length: number | null, type: string, name: string, id?: string];

/** Repeats the call whose output contained the blob, and returns the same blob of the new output. */
type RequestAgain = (signal: AbortSignal | undefined) => Promise<ReceivedBlob>;

/**
 * A blob that the peer sends. Its bytes are transferred when they are read. A blob of an input can be read until its
 * call ends. A blob of an output can be read if the first read starts within one minute.
 */
export class ReceivedBlob {
  /**
   * Length of the blob in bytes, or undefined if the sender does not know it. Reads fail if the content has another
   * length.
   */
  readonly length: number | undefined;
  /** Media type that the sender has stated. Empty if there is none. */
  readonly type: string;
  /** File name that the sender has stated. Empty if there is none. The name is not checked: do not use it as a path. */
  readonly name: string;
  /**
   * Id of a resumable upload: 32 hexadecimal digits that the sender chose and that stay the same in each attempt.
   * Anyone who knows the id can continue the upload. Undefined for other blobs, and for blobs of outputs.
   */
  readonly id: string | undefined;
  readonly #session: TypedCaller;
  readonly #ref: number;
  readonly #maxBytes: number;
  readonly #digest: boolean;
  #resumption: { readonly caller: BlobCaller; readonly requestAgain: RequestAgain } | undefined = undefined;

  /**
   * @internal
   * @param digest true to request and check the digest of the whole blob
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

  /** @internal Makes reads continue after a lost session. `requestAgain` requests the blob again. */
  resumeBy(caller: BlobCaller, requestAgain: RequestAgain): void {
    this.#resumption = { caller, requestAgain };
  }

  /**
   * Returns the blob's bytes as a stream. If the sender's source is a `Blob` or a function, the blob can be read
   * several times; if it is a stream, only once. A new read ends the previous one.
   */
  stream({ signal, ...options }: ReadBlobOptions = {}): ReadableStream<UnsharedBytes> {
    const aborter = new AbortController();
    let stopWatching: (() => void) | undefined;
    const chunks = this.#read({ ...options, signal: aborter.signal });
    return new ReadableStream<UnsharedBytes>(
      {
        async pull(controller) {
          stopWatching ??= signal && onAbort(signal, () => aborter.abort(signal.reason));
          try {
            const { done, value } = await chunks.next();
            if (done !== true) return controller.enqueue(value);
          } catch (error) {
            stopWatching?.();
            throw error;
          }
          stopWatching?.();
          controller.close();
        },
        cancel(reason) {
          stopWatching?.();
          // A generator returns only after its pending promise has settled; the signal aborts that promise.
          aborter.abort(reason);
          chunks.return().catch(() => {});
        },
      },
      { highWaterMark: 0 },
    );
  }

  /**
   * Returns the blob's bytes for a `for await` loop, which is more efficient than a stream. Leaving the loop stops the
   * sender.
   */
  chunks(options: ReadBlobOptions = {}): AsyncGenerator<UnsharedBytes, void> {
    return this.#read(options);
  }

  /** Iterates over the blob's bytes. Leaving the loop stops the sender. */
  [Symbol.asyncIterator](): AsyncGenerator<UnsharedBytes, void> {
    return this.#read({});
  }

  /**
   * Reads the whole blob into one array. Rejects with `resource_exhausted` if the blob has more than `maxBytes` bytes
   * (default 16 MiB).
   */
  async bytes({
    maxBytes = DEFAULT_BYTES,
    ...options
  }: ReadBlobOptions & { readonly maxBytes?: number } = {}): Promise<UnsharedBytes> {
    if (this.length !== undefined && this.length > maxBytes) throw tooLarge(this.length, maxBytes);
    // Uses one growing buffer, because a sender may send one byte at a time.
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
    const losses = resumption && new TransferRetries(resumption.caller, options);
    let received = 0;
    for await (const chunk of after ?? []) {
      if (signal?.aborted === true) throw cancelled(signal);
      received += chunk.length;
      hash?.update(chunk);
    }
    if (received > (length ?? received)) throw changedBlob(`it has ${length} bytes, of which ${received} are there`);
    for (let isResumed = false; ; isResumed = true) {
      try {
        const source = isResumed && resumption !== undefined ? await resumption.requestAgain(signal) : this;
        if (source.length !== length) throw changedBlob(`it had ${length} bytes, and has ${source.length}`);
        const stream = source.#begin(received, hash, options);
        for await (const chunk of stream) {
          losses?.progressed();
          received += chunk.length;
          if (received > this.#maxBytes) throw tooLarge(received, this.#maxBytes);
          if (length !== undefined && received > length) break;
          if (keepsHash) hash?.update(chunk);
          yield chunk;
          onProgress?.(received, length);
        }
        this.#check(received, hash, stream.trailers.get(DIGEST_TRAILER));
        return;
      } catch (error) {
        if (losses === undefined) throw error;
        await losses.waitForAttempt(error, options);
      } finally {
        losses?.onMade();
      }
    }
  }

  #begin(from: number, hash: Sha256 | undefined, options: CallOptions): ItemStream<UnsharedBytes> {
    const before = from > 0 && { from, ...(hash !== undefined && { sha256: hash.copy().hex() }) };
    return this.#session.start(readBlob, { ref: this.#ref, ...before, ...(this.#digest && { digest: true }) }, options);
  }

  /** Throws if the bytes read are not the whole blob, or differ from those that the sender sent. */
  #check(received: number, hash: Sha256 | undefined, sent: string | undefined): void {
    const { length } = this;
    if (length !== undefined && received !== length) {
      const has = received > length ? "more" : received;
      throw new RpcError("data_loss", `the blob should have ${length} bytes, but has ${has}`);
    }
    if (!this.#digest) return;
    const computed = hash?.hex();
    if (sent === computed) return;
    const its = sent === undefined ? "its sender has sent none" : `its sender's is ${sent}`;
    throw new RpcError("data_loss", `the blob's SHA-256 is ${computed}, and ${its}`);
  }
}

export function tooLarge(bytes: number, maxBytes: number): RpcError {
  const hint = "the schema's blob({ maxBytes }) and limits.maxBlobBytes say how large a blob may be";
  return new RpcError("resource_exhausted", `the blob has ${bytes} bytes or more, but the limit is ${maxBytes} bytes`, {
    hint,
  });
}
