import { RpcError } from "../errors.js";
import type { Sha256 } from "./sha256.js";

/** Bytes that a blob is made of. A `Blob`, such as a `File`, and a function can be read more than once. */
export type BlobContent =
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | (() => ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>);

/** A blob with what is said of it. */
export interface DescribedBlob {
  readonly content: BlobContent;
  /** Bytes. Default: those of a `Blob`; of other content nobody knows. */
  readonly length?: number;
  /** The media type, such as "image/png". Default: that of a `Blob`. */
  readonly type?: string;
  /** The name of the file. Default: that of a `File`. */
  readonly name?: string;
  /**
   * Names the upload of a `resumable` blob, by `createBlobId()`. Keep it if another program is to go on with this
   * upload, such as the page when it is loaded again. Default: a new one for each call.
   */
  readonly id?: string;
  /** Called with the bytes that have been handed to the session's flow control, and all of them where that is known. Default: none. */
  readonly onProgress?: (bytes: number, length: number | undefined) => void;
}

/** Content that is read now. */
export interface OpenedContent {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Position of the first byte of the chunks. */
  readonly at: number;
  /** Digest of all bytes before `at`; undefined where nobody checks it. */
  readonly hash: Sha256 | undefined;
}

/** Value that a sender gives for a field that is a blob. */
export type BlobSource = BlobContent | DescribedBlob;

/** Returns one form of what was given. Throws `RpcError` `invalid_argument` for what is no blob. */
export function describedBlob(source: BlobSource): DescribedBlob {
  if (typeof source === "object" && source !== null && "content" in source) {
    return isBlob(source.content) ? { ...ofBlob(source.content), ...source } : requireContent(source);
  }
  return isBlob(source) ? ofBlob(source) : requireContent({ content: source });
}

/** The chunks of `content`, as it is read now. Throws `RpcError` where it was read before and cannot be again. */
export function chunksOf(content: BlobContent): AsyncIterable<Uint8Array> {
  if (typeof content === "function") return chunksOf(content());
  if (isBlob(content)) return ofStream(content.stream());
  if (!("getReader" in content)) return content;
  if (content.locked) throw new RpcError("failed_precondition", "the stream of a blob can be read once");
  return ofStream(content);
}

/** Makes the id of an upload: 32 random hexadecimal digits. Who knows it can go on with the upload. */
export function createBlobId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Whether `content` can be read more than once. */
export function isRepeatable(content: BlobContent): boolean {
  return typeof content === "function" || isBlob(content);
}

/** Ends content that nobody will read: a stream may hold a file open. */
export function discard(content: BlobContent): void {
  if (typeof content === "function" || isBlob(content)) return;
  if ("getReader" in content) {
    if (!content.locked) content.cancel().catch(() => {});
    return;
  }
  // A stream of Node's, or a generator.
  const endable = content as { destroy?(): unknown; return?(): Promise<unknown> };
  endable.destroy?.();
  endable.return?.().catch(() => {});
}

// Browsers that do not iterate over streams read them like this.
async function* ofStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      ended = done;
      if (done) return;
      yield value;
    }
  } catch (error) {
    ended = true;
    throw error;
  } finally {
    if (!ended) await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}

function isBlob(content: unknown): content is Blob {
  return typeof Blob === "function" && content instanceof Blob;
}

function ofBlob(blob: Blob): DescribedBlob {
  const name = (blob as { readonly name?: unknown }).name;
  return { content: blob, length: blob.size, type: blob.type, ...(typeof name === "string" && { name }) };
}

function requireContent(source: DescribedBlob): DescribedBlob {
  const { content } = source;
  const isObject = typeof content === "object" && content !== null;
  if (typeof content === "function" || (isObject && ("getReader" in content || Symbol.asyncIterator in content))) {
    return source;
  }
  const hint = "give a Blob, a File, a ReadableStream, an asynchronous iterable, or { content } with one of these";
  throw new RpcError("invalid_argument", "a blob has no content that can be read", { hint });
}
