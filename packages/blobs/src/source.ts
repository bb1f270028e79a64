import { RpcError } from "@quicrpc/core";
import type { Sha256 } from "./sha256.js";

/**
 * The bytes of a blob. A `Blob` (such as a `File`) and a function can be read more than once; other content only once.
 */
export type BlobContent =
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | (() => ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>);

/** Content of a blob with its length, media type and name. */
export interface DescribedBlob {
  readonly content: BlobContent;
  /** Length in bytes. Default: the `size` of a `Blob`, otherwise unknown. */
  readonly length?: number;
  /** Media type, such as "image/png". Default: the type of a `Blob`. */
  readonly type?: string;
  /** File name. Default: the name of a `File`. */
  readonly name?: string;
  /**
   * Id of the upload of a `resumable` blob, from `createBlobId()`. Store the id if another program has to continue the
   * upload, such as a page after it was reloaded. Default: a new id for each call.
   */
  readonly id?: string;
  /**
   * Called with the number of bytes passed to the session so far, and the blob's length in bytes if it is known.
   * Default: none.
   */
  readonly onProgress?: (bytes: number, length: number | undefined) => void;
}

export interface OpenedContent {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Position of the first byte in `chunks`. */
  readonly at: number;
  /** Digest of all bytes before the position `at`. Undefined if it is not needed. */
  readonly hash: Sha256 | undefined;
}

/** Value that a sender may use for a blob field. */
export type BlobSource = BlobContent | DescribedBlob;

/**
 * Converts a blob field's value to a `DescribedBlob`. Throws `RpcError` `invalid_argument` if the value is not a blob.
 */
export function describedBlob(source: BlobSource): DescribedBlob {
  if (typeof source === "object" && source !== null && "content" in source) {
    return isBlob(source.content) ? { ...ofBlob(source.content), ...source } : requireContent(source);
  }
  return isBlob(source) ? ofBlob(source) : requireContent({ content: source });
}

/**
 * Returns the chunks of a blob's content. Throws `RpcError` if the content was read before and cannot be read again.
 */
export function chunksOf(content: BlobContent): AsyncIterable<Uint8Array> {
  if (typeof content === "function") return chunksOf(content());
  if (isBlob(content)) return ofStream(content.stream());
  if (!("getReader" in content)) return content;
  if (content.locked) throw new RpcError("failed_precondition", "the stream of a blob can be read once");
  return ofStream(content);
}

/** Returns a new id for an upload: 32 random hexadecimal digits. Anyone who knows the id can continue the upload. */
export function createBlobId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function isRepeatable(content: BlobContent): boolean {
  return typeof content === "function" || isBlob(content);
}

/** Closes a blob's content that will not be read, because a stream may keep a file open. */
export function discard(content: BlobContent): void {
  if (typeof content === "function" || isBlob(content)) return;
  if ("getReader" in content) {
    if (!content.locked) content.cancel().catch(() => {});
    return;
  }
  // A Node stream, or a generator.
  const endable = content as { destroy?(): unknown; return?(): Promise<unknown> };
  endable.destroy?.();
  endable.return?.().catch(() => {});
}

// For browsers whose streams are not async iterable.
async function* ofStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      isDone = done;
      if (done) return;
      yield value;
    }
  } catch (error) {
    isDone = true;
    throw error;
  } finally {
    if (!isDone) await reader.cancel().catch(() => {});
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
