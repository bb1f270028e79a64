import { createReadStream, createWriteStream } from "node:fs";
import { stat, rename, rm } from "node:fs/promises";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { randomUUID } from "node:crypto";
import { RpcError } from "@quicrpc/core";
import type { DescribedBlob, ReadBlobOptions, ReceivedBlob } from "@quicrpc/core/blobs";

/** Bytes of one read of a file. */
const CHUNK_BYTES = 262_144;

/** Description of a file that is sent as a blob, and its hook. */
export type FileBlobOptions = Partial<Pick<DescribedBlob, "name" | "type" | "onProgress">>;

/**
 * A file as a blob to send, by its path. It is read as its receiver takes it, and fails where it is changed meanwhile. Rejects where there is no such file.
 */
export async function fileBlob(path: string, options: FileBlobOptions = {}): Promise<DescribedBlob> {
  const { size: length, mtimeMs } = await stat(path);
  const content = async function* (): AsyncGenerator<Uint8Array> {
    if (length > 0) yield* createReadStream(path, { highWaterMark: CHUNK_BYTES, end: length - 1 });
    const now = await stat(path);
    if (now.size !== length || now.mtimeMs !== mtimeMs)
      throw new RpcError("aborted", "the file was changed while it was sent");
  };
  return { name: basename(path), ...options, content, length };
}

/**
 * Writes a blob to `path`, as fast as the disk takes it. The file appears when it is whole: until then it has another name beside it, and a
 * failure leaves nothing behind.
 */
export async function saveBlob(blob: ReceivedBlob, path: string, options?: ReadBlobOptions): Promise<void> {
  const partial = `${path}.${randomUUID()}.part`;
  try {
    await pipeline(blob.chunks(options), createWriteStream(partial, { flags: "wx", highWaterMark: CHUNK_BYTES }));
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
