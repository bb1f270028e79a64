import { createReadStream } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { randomUUID } from "node:crypto";
import { RpcError } from "@quicrpc/core";
import type { DescribedBlob, ReadBlobOptions, ReceivedBlob } from "@quicrpc/blobs";
import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import { type PartOptions, savePart } from "./blob-parts.js";

const CHUNK_BYTES = 262_144;

/** Description of a file that is sent as a blob, and its progress hook. */
export type FileBlobOptions = Partial<Pick<DescribedBlob, "name" | "type" | "id" | "onProgress">>;

/** Options of `saveBlob`. */
export interface SaveBlobOptions extends Omit<ReadBlobOptions, "after"> {
  /**
   * If a transfer ends early, keeps the bytes received so far in `<path>.part`. The next transfer to the same path
   * continues from there, also in another process. Use a path that is unique to the blob: for an upload, one that
   * contains `blob.id`. Default: nothing is kept.
   */
  readonly resume?: boolean | PartOptions;
}

const FILE_BLOB: OptionNames<FileBlobOptions> = { id: true, name: true, onProgress: true, type: true };
const SAVE_BLOB: OptionNames<SaveBlobOptions> = {
  onProgress: true,
  resume: { maxAgeMs: true, maxPartBytes: true, maxParts: true },
  signal: true,
};

/**
 * Returns a blob with the contents of a file, for the input or output of a call. The file is read when the blob is
 * sent, only as fast as the receiver accepts the data. The transfer fails if the file has changed since. Rejects if the
 * file does not exist.
 */
export async function fileBlob(path: string, options: FileBlobOptions = {}): Promise<DescribedBlob> {
  checkOptions("fileBlob()", options, FILE_BLOB);
  const { size: length, mtimeMs } = await stat(path);
  const requireUnchanged = async (): Promise<void> => {
    const now = await stat(path);
    if (now.size !== length || now.mtimeMs !== mtimeMs)
      throw new RpcError("aborted", "the file changed while it was being sent");
  };
  const content = async function* (): AsyncGenerator<Uint8Array> {
    // It may be read again, after the loss of a session.
    await requireUnchanged();
    if (length > 0) yield* createReadStream(path, { highWaterMark: CHUNK_BYTES, end: length - 1 });
    await requireUnchanged();
  };
  return { name: basename(path), ...options, content, length };
}

/**
 * Writes a blob to `path`, as fast as the disk accepts it. Until it is complete, the file has a temporary name in the
 * same folder. A failed transfer leaves no file behind unless `resume` is set.
 */
export async function saveBlob(blob: ReceivedBlob, path: string, saveOptions: SaveBlobOptions = {}): Promise<void> {
  checkOptions("saveBlob()", saveOptions, SAVE_BLOB);
  const { resume = false, ...options } = saveOptions;
  if (resume !== false) return savePart(blob, path, options, resume === true ? {} : resume);
  const partial = `${path}.${randomUUID()}.part`;
  // Opened before the transfer. If the write stream opened the file itself, it could do so after the transfer has
  // failed, and leave the file behind.
  const file = await open(partial, "wx");
  try {
    try {
      await pipeline(blob.chunks(options), file.createWriteStream({ highWaterMark: CHUNK_BYTES }));
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
