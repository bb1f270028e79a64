import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { RpcError } from "@quicrpc/core";
import type { StoredUpload, UploadInfo, UploadStore } from "@quicrpc/blobs";
import { checkOptions, type OptionNames } from "@quicrpc/core/internal";

/** Limits of a folder that stores uploads. */
export interface FileUploadOptions {
  /** Maximum number of uploads. Default 1000. */
  readonly maxUploads?: number;
  /** Maximum size of all uploads in bytes. Default: 16 GiB. */
  readonly maxBytes?: number;
}

const OPTIONS: OptionNames<FileUploadOptions> = { maxUploads: true, maxBytes: true };

const CHUNK_BYTES = 262_144;
const MAX_UPLOADS = 1000;
const MAX_BYTES = 17_179_869_184;
const [BYTES, INFO] = [".upload", ".json"];
/**
 * Flags for opening a file in a folder that other programs can write to. A symbolic link fails with `ELOOP`, and a
 * named pipe does not block. Both flags are undefined on Windows, which counts as 0.
 */
const { O_RDONLY, O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;
const READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const READ_WRITE = O_RDWR | O_NOFOLLOW | O_NONBLOCK;

/**
 * Returns a store that keeps HTTP uploads in a folder, for `serve({ http: { uploads } })` and `createFetchHandler`.
 * Creates the folder if it does not exist. Uploads survive a restart of the process, and servers that use the same
 * folder share them. Use a folder that contains nothing else.
 */
export function fileUploads(folder: string, options: FileUploadOptions = {}): UploadStore {
  checkOptions("fileUploads()", options, OPTIONS);
  return new FileUploads(folder, options);
}

interface UploadCount {
  uploads: number;
  bytes: number;
}

class Folder {
  readonly path: string;
  private readonly maxUploads: number;
  private readonly maxBytes: number;
  /** Number and size of the uploads that the last scan found, updated by later additions and removals. */
  private readonly stored: UploadCount = { uploads: 0, bytes: 0 };
  /** Number and size of the writes to the folder that are in progress. */
  private readonly coming: UploadCount = { uploads: 0, bytes: 0 };
  /** Number and size of the uploads that started so late that the current scan may not have counted them. */
  private missed: UploadCount = { uploads: 0, bytes: 0 };
  private looking: Promise<void> | undefined = undefined;
  private hasLooked = false;

  constructor(path: string, { maxUploads = MAX_UPLOADS, maxBytes = MAX_BYTES }: FileUploadOptions) {
    this.path = path;
    this.maxUploads = maxUploads;
    this.maxBytes = maxBytes;
  }

  /**
   * Counts an upload or its new bytes against the limits, and then calls `write`. Throws `RpcError` if a limit is
   * reached.
   */
  async add(amount: UploadCount, write: () => Promise<void>): Promise<void> {
    if (!this.hasLooked) await this.scan(0);
    const { stored, coming, missed } = this;
    if (stored.uploads + amount.uploads > this.maxUploads) throw noRoom(`${stored.uploads} uploads are in the folder`);
    if (stored.bytes + amount.bytes > this.maxBytes) throw noRoom("their bytes have reached the limit");
    for (const total of [stored, coming, missed]) change(total, amount, 1);
    try {
      await write();
    } catch (error) {
      change(stored, amount, -1);
      throw error;
    } finally {
      change(coming, amount, -1);
    }
  }

  remove(amount: UploadCount): void {
    change(this.stored, amount, -1);
  }

  /**
   * Removes uploads last modified before `before` (milliseconds since the epoch) and counts the rest, including those
   * of other processes. Concurrent callers share one scan.
   */
  scan(before: number): Promise<void> {
    this.looking ??= this.scanFolder(before).finally(() => (this.looking = undefined));
    return this.looking;
  }

  private async scanFolder(before: number): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    this.missed = { ...this.coming };
    const counted: UploadCount = { uploads: 0, bytes: 0 };
    const names = new Set(await readdir(this.path));
    for (const name of names) {
      const [id = ""] = name.split(".");
      const isBytes = name === id + BYTES;
      // Each upload has a file with its bytes and a file with its information. If one of them is missing, a process
      // ended while it wrote them.
      if (!name.startsWith(id + INFO) ? !isBytes : name === id + INFO && names.has(id + BYTES)) continue;
      const path = join(this.path, name);
      const file = await lstat(path).catch(() => undefined);
      if (file === undefined) continue;
      if (file.mtimeMs < before) {
        await rm(path, { force: true });
        if (isBytes) await rm(join(this.path, id + INFO), { force: true });
      } else if (isBytes) change(counted, { uploads: 1, bytes: file.size }, 1);
    }
    change(counted, this.missed, 1);
    Object.assign(this.stored, counted);
    this.hasLooked = true;
  }
}

function change(amount: UploadCount, { uploads, bytes }: UploadCount, sign: 1 | -1): void {
  amount.uploads += sign * uploads;
  amount.bytes += sign * bytes;
}

class FileUploads implements UploadStore {
  private readonly folder: Folder;

  constructor(path: string, options: FileUploadOptions) {
    this.folder = new Folder(path, options);
  }

  async create(id: string, info: UploadInfo): Promise<StoredUpload> {
    const upload = new FileUpload(join(this.folder.path, id), info, this.folder);
    await this.folder.add({ uploads: 1, bytes: 0 }, () => upload.begin(info));
    return upload;
  }

  async find(id: string): Promise<StoredUpload | undefined> {
    const path = join(this.folder.path, id);
    try {
      const info = JSON.parse(await readFile(path + INFO, { encoding: "utf8", flag: READ })) as UploadInfo;
      return new FileUpload(path, info, this.folder);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "ELOOP") return undefined;
      throw error;
    }
  }

  async expire(before: number): Promise<void> {
    await this.folder.scan(before);
  }
}

class FileUpload implements StoredUpload {
  info: UploadInfo;
  readonly bytesPath: string;
  private readonly infoPath: string;
  private readonly folder: Folder;
  /** The file with the upload's bytes, open while a request writes to it. */
  private file: FileHandle | undefined = undefined;

  constructor(path: string, info: UploadInfo, folder: Folder) {
    this.bytesPath = path + BYTES;
    this.infoPath = path + INFO;
    this.info = info;
    this.folder = folder;
  }

  /** Creates the upload's files. Throws `RpcError` `already_exists` if another process has already created them. */
  async begin(info: UploadInfo): Promise<void> {
    // Only this user may read it, because uploads are private.
    await writeFile(this.bytesPath, "", { flag: "wx", mode: 0o600 }).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== "EEXIST") throw cause;
      throw new RpcError("already_exists", "an upload with this id already exists", { cause });
    });
    try {
      await this.note(info);
    } catch (error) {
      await rm(this.bytesPath, { force: true });
      throw error;
    }
  }

  async size(): Promise<number> {
    return (await lstat(this.bytesPath)).size;
  }

  async write(bytes: Uint8Array, at: number): Promise<void> {
    await this.folder.add({ uploads: 0, bytes: bytes.length }, async () => {
      this.file ??= await open(this.bytesPath, READ_WRITE);
      for (let done = 0; done < bytes.length; ) {
        done += (await this.file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
      }
    });
  }

  async sync(): Promise<void> {
    const { file } = this;
    this.file = undefined;
    try {
      await file?.datasync();
    } finally {
      await file?.close();
    }
  }

  async note(info: UploadInfo): Promise<void> {
    const partial = `${this.infoPath}.${randomUUID()}`;
    const file = await open(partial, "wx", 0o600);
    try {
      try {
        await file.writeFile(JSON.stringify(info));
        await file.datasync();
      } finally {
        await file.close();
      }
      await rename(partial, this.infoPath);
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
    this.info = info;
  }

  async *read(): AsyncGenerator<Uint8Array> {
    const file = await open(this.bytesPath, READ);
    yield* file.createReadStream({ highWaterMark: CHUNK_BYTES });
  }

  async remove(): Promise<void> {
    const bytes = await this.size().catch(() => undefined);
    await rm(this.infoPath, { force: true });
    await rm(this.bytesPath, { force: true });
    if (bytes !== undefined) this.folder.remove({ uploads: 1, bytes });
  }
}

function noRoom(cause: string): RpcError {
  const hint = "raise maxUploads or maxBytes of fileUploads, or wait until calls have used the existing uploads";
  return new RpcError("resource_exhausted", `the folder of uploads has no room: ${cause}`, { hint });
}
