import { constants, createReadStream } from "node:fs";
import { type FileHandle, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { RpcError } from "@quicrpc/core";
import type { ReadBlobOptions, ReceivedBlob } from "@quicrpc/blobs";

/** Limits on the `.part` files of unfinished transfers in one folder. */
export interface PartOptions {
  /**
   * Age in milliseconds after which an abandoned `.part` file is removed by the next transfer to the folder. Default:
   * 86,400,000 (one day).
   */
  readonly maxAgeMs?: number;
  /** Maximum number of `.part` files in the folder. Default 1000. */
  readonly maxParts?: number;
  /**
   * Maximum total size in bytes of the `.part` files in the folder, including the expected size of transfers in
   * progress. Default: 16 GiB.
   */
  readonly maxPartBytes?: number;
}

const SUFFIX = ".part";
const DAY_MS = 86_400_000;
const MAX_PARTS = 1000;
const MAX_PART_BYTES = 17_179_869_184;
/**
 * Error codes after which a `.part` file cannot be continued: its bytes are not the beginning of the blob, or the
 * application rejected the blob.
 */
const WORTHLESS: readonly string[] = ["failed_precondition", "data_loss", "resource_exhausted", "invalid_argument"];

/** A file transfer of this process that is in progress. */
interface Saving {
  readonly stop: AbortController;
  /** Fulfils when the transfer has stopped writing. */
  readonly closed: Promise<void>;
  /** Expected size of the `.part` file in bytes. */
  readonly bytes: number;
}

const savings: Map<string, Saving> = new Map();

/**
 * Writes a blob to `path` and continues from `<path>.part` if an earlier transfer left that file. Aborts any other
 * transfer of this process to the same path.
 */
export async function savePart(
  blob: ReceivedBlob,
  path: string,
  options: ReadBlobOptions,
  limits: PartOptions,
): Promise<void> {
  const part = resolve(`${path}${SUFFIX}`);
  const before = savings.get(part);
  const stop = new AbortController();
  let onOver!: () => void;
  const closed = new Promise<void>((fulfil) => (onOver = fulfil));
  // From here on, the next transfer to the same path finds this one and ends it.
  savings.set(part, { stop, closed, bytes: blob.length ?? 0 });
  try {
    before?.stop.abort(new RpcError("aborted", "another transfer to the same file has started"));
    await before?.closed;
    if (stop.signal.aborted) throw stop.signal.reason;
    const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
    await written(blob, path, part, { ...options, signal }, limits);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    onOver();
    if (savings.get(part)?.stop === stop) savings.delete(part);
  }
}

async function written(
  blob: ReceivedBlob,
  path: string,
  part: string,
  options: ReadBlobOptions,
  limits: PartOptions,
): Promise<void> {
  // If the upload was complete when its call was lost, its bytes are only compared, and not sent again.
  if (blob.id !== undefined && (await sizeOf(path)) !== undefined) {
    for await (const _ of blob.chunks({ ...options, after: createReadStream(path) }))
      throw new RpcError("failed_precondition", "the received file is not complete");
    return;
  }
  const maxSize = await requireRoom(blob, part, limits);
  const file = await open(part, constants.O_RDWR | constants.O_CREAT);
  let bytes: number;
  try {
    const { size } = await file.stat();
    // The bytes that the sender may leave out must be on the disk.
    await file.datasync();
    const now = new Date();
    await utimes(part, now, now);
    const after = size === 0 ? {} : { after: createReadStream(part, { end: size - 1 }) };
    bytes = await append(file, size, maxSize, blob.chunks({ ...options, ...after }));
    await file.datasync();
  } catch (error) {
    if (WORTHLESS.includes(RpcError.from(error).code)) await rm(part, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  try {
    await rename(part, path);
  } catch (error) {
    // Another process has completed the same part.
    if ((await sizeOf(path)) !== bytes || (await sizeOf(part)) !== undefined) throw error;
  }
}

/**
 * Appends the blob's bytes to the `.part` file at explicit positions. If another process still writes to the file, both
 * write the same bytes to the same positions.
 */
async function append(
  file: FileHandle,
  from: number,
  maxSize: number,
  chunks: AsyncIterable<Uint8Array>,
): Promise<number> {
  let position = from;
  for await (const chunk of chunks) {
    if (position + chunk.length > maxSize) throw noRoom(`a part of more than ${position} bytes`);
    for (let done = 0; done < chunk.length; ) {
      const { bytesWritten } = await file.write(chunk, done, chunk.length - done, position);
      done += bytesWritten;
      position += bytesWritten;
    }
  }
  return position;
}

/**
 * Removes expired `.part` files and returns the maximum size in bytes of this one. Throws `RpcError`
 * `resource_exhausted` if the other `.part` files leave no room.
 */
async function requireRoom(blob: ReceivedBlob, part: string, limits: PartOptions): Promise<number> {
  const { maxAgeMs = DAY_MS, maxParts = MAX_PARTS, maxPartBytes = MAX_PART_BYTES } = limits;
  const folder = dirname(part);
  const partFiles = (await readdir(folder)).filter((name) => name.endsWith(SUFFIX)).map((name) => join(folder, name));
  // Some downloads in progress have no file yet.
  const otherFiles = new Set([...partFiles, ...Array.from(savings.keys()).filter((path) => dirname(path) === folder)]);
  otherFiles.delete(part);
  let remainingBytes = maxPartBytes;
  for (const other of otherFiles) {
    const { size, mtimeMs } = (await stat(other).catch(() => undefined)) ?? { size: 0, mtimeMs: Date.now() };
    const saving = savings.get(other);
    if (saving === undefined && Date.now() - mtimeMs > maxAgeMs) {
      otherFiles.delete(other);
      await rm(other, { force: true });
    } else remainingBytes -= Math.max(size, saving?.bytes ?? 0);
  }
  if (otherFiles.size >= maxParts) throw noRoom(`part ${otherFiles.size + 1} of the folder`);
  if ((blob.length ?? 0) > remainingBytes) throw noRoom(`a part of ${blob.length} bytes`);
  return remainingBytes;
}

function noRoom(used: string): RpcError {
  const hint = "raise maxParts or maxPartBytes of saveBlob's resume, or give each principal a folder";
  return new RpcError("resource_exhausted", `the folder has no room for ${used}: unfinished transfers use it`, {
    hint,
  });
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
