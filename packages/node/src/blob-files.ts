import { createReadStream } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { randomUUID } from "node:crypto";
import { RpcError } from "@quicrpc/core";
import { checkOptions, type OptionNames } from "@quicrpc/core/transport";
import type { DescribedBlob, ReadBlobOptions, ReceivedBlob } from "@quicrpc/core/blobs";
import { type PartOptions, savePart } from "./blob-parts.js";

/** Bytes of one read of a file. */
const CHUNK_BYTES = 262_144;

/** Description of a file that is sent as a blob, and its hook. */
export type FileBlobOptions = Partial<Pick<DescribedBlob, "name" | "type" | "id" | "onProgress">>;

const FILE_OPTIONS: OptionNames<FileBlobOptions> = { name: true, type: true, id: true, onProgress: true };

/** Options of `saveBlob`. */
export interface SaveBlobOptions extends Omit<ReadBlobOptions, "after"> {
  /**
   * A transfer that ends early leaves what it has as `<path>.part`, and the next one to the same path goes on with it, also in another process. Give a path
   * that belongs to the blob: of an upload, one with `blob.id`. Default: nothing is left.
   */
  readonly resume?: boolean | PartOptions;
}

const SAVE_OPTIONS: OptionNames<SaveBlobOptions> = {
  resume: { maxParts: true, maxPartBytes: true, maxAgeMs: true } satisfies OptionNames<PartOptions>,
  onProgress: true,
  signal: true,
};

/**
 * A file as a blob to send, by its path. It is read as its receiver takes it, and fails where it is changed meanwhile. Rejects where there is no such file.
 */
export async function fileBlob(path: string, options: FileBlobOptions = {}): Promise<DescribedBlob> {
  checkOptions("fileBlob()", options, FILE_OPTIONS);
  const { size: length, mtimeMs } = await stat(path);
  const requireUnchanged = async (): Promise<void> => {
    const now = await stat(path);
    if (now.size !== length || now.mtimeMs !== mtimeMs)
      throw new RpcError("aborted", "the file was changed while it was sent");
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
 * Writes a blob to `path`, as fast as the disk takes it. The file appears when it is whole: until then it has another name beside it, and a
 * failure leaves nothing behind, unless `resume` says so.
 */
export async function saveBlob(blob: ReceivedBlob, path: string, given: SaveBlobOptions = {}): Promise<void> {
  checkOptions("saveBlob()", given, SAVE_OPTIONS);
  const { resume = false, ...options } = given;
  if (resume !== false) return savePart(blob, path, options, resume === true ? {} : resume);
  const partial = `${path}.${randomUUID()}.part`;
  // Opened before the transfer: a stream that opens it by itself may do so after its failure, and leave the file behind.
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
