import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { RpcError } from "@quicrpc/core";
import {
  checkOptions,
  type OptionNames,
  type StoredUpload,
  type UploadFacts,
  type UploadStore,
} from "@quicrpc/core/transport";

/** Bounds of a folder of uploads. */
export interface FileUploadOptions {
  /** Uploads in the folder. Default 1000. */
  readonly maxUploads?: number;
  /** Bytes of all of them. Default: 16 GiB. */
  readonly maxBytes?: number;
}

const OPTIONS: OptionNames<FileUploadOptions> = { maxUploads: true, maxBytes: true };

const CHUNK_BYTES = 262_144;
const MAX_UPLOADS = 1000;
const MAX_BYTES = 17_179_869_184;
const [BYTES, FACTS] = [".upload", ".json"];

/**
 * Keeps uploads over HTTP in a folder, which is made where there is none: for `serve({ http: { uploads } })` and `createFetchHandler`. They outlive the
 * process, and servers that share the folder share its uploads. Give it a folder of its own.
 */
export function fileUploads(folder: string, options: FileUploadOptions = {}): UploadStore {
  checkOptions("fileUploads()", options, OPTIONS);
  return new FileUploads(folder, options);
}

/** The folder, and how many bytes may still be written to it. */
class Folder {
  readonly path: string;
  readonly maxUploads: number;
  private readonly maxBytes: number;
  /** Undefined: nobody has looked yet. */
  private left: number | undefined = undefined;

  constructor(path: string, { maxUploads = MAX_UPLOADS, maxBytes = MAX_BYTES }: FileUploadOptions) {
    this.path = path;
    this.maxUploads = maxUploads;
    this.maxBytes = maxBytes;
  }

  /** Throws `RpcError` where there is no room for so many bytes more. */
  async take(bytes: number): Promise<void> {
    if (this.left === undefined) await this.look(0);
    this.left ??= this.maxBytes;
    if (bytes > this.left) throw noRoom("they have as many bytes as they may");
    this.left -= bytes;
  }

  give(bytes: number): void {
    if (this.left !== undefined) this.left += bytes;
  }

  /** Removes what is older, and looks how much there is, of other processes too. Returns the number of uploads. */
  async look(before: number): Promise<number> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    let uploads = 0;
    let bytes = 0;
    for (const name of await readdir(this.path)) {
      if (!name.endsWith(BYTES)) continue;
      const path = join(this.path, name);
      const found = await stat(path).catch(() => undefined);
      if (found === undefined) continue;
      if (found.mtimeMs < before) {
        await rm(path, { force: true });
        await rm(path.slice(0, -BYTES.length) + FACTS, { force: true });
      } else {
        uploads++;
        bytes += found.size;
      }
    }
    this.left = this.maxBytes - bytes;
    return uploads;
  }
}

class FileUploads implements UploadStore {
  private readonly folder: Folder;

  constructor(path: string, options: FileUploadOptions) {
    this.folder = new Folder(path, options);
  }

  async create(id: string, facts: UploadFacts): Promise<StoredUpload> {
    const upload = new FileUpload(join(this.folder.path, id), facts, this.folder);
    // Readable for nobody else: what users send is theirs.
    await writeFile(upload.bytesPath, "", { flag: "wx", mode: 0o600 });
    await upload.note(facts);
    return upload;
  }

  async find(id: string): Promise<StoredUpload | undefined> {
    const path = join(this.folder.path, id);
    try {
      const facts = JSON.parse(await readFile(path + FACTS, "utf8")) as UploadFacts;
      return new FileUpload(path, facts, this.folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  async expire(before: number): Promise<void> {
    const uploads = await this.folder.look(before);
    if (uploads >= this.folder.maxUploads) throw noRoom(`${uploads} uploads are in the folder`);
  }
}

class FileUpload implements StoredUpload {
  facts: UploadFacts;
  readonly bytesPath: string;
  private readonly factsPath: string;
  private readonly folder: Folder;
  /** Open while an attempt writes. */
  private file: FileHandle | undefined = undefined;

  constructor(path: string, facts: UploadFacts, folder: Folder) {
    this.bytesPath = path + BYTES;
    this.factsPath = path + FACTS;
    this.facts = facts;
    this.folder = folder;
  }

  async size(): Promise<number> {
    return (await stat(this.bytesPath)).size;
  }

  async write(bytes: Uint8Array, at: number): Promise<void> {
    await this.folder.take(bytes.length);
    this.file ??= await open(this.bytesPath, "r+");
    for (let done = 0; done < bytes.length; ) {
      done += (await this.file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
    }
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

  async note(facts: UploadFacts): Promise<void> {
    const partial = `${this.factsPath}.${randomUUID()}`;
    const file = await open(partial, "wx", 0o600);
    try {
      await file.writeFile(JSON.stringify(facts));
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(partial, this.factsPath);
    this.facts = facts;
  }

  read(): AsyncIterable<Uint8Array> {
    return createReadStream(this.bytesPath, { highWaterMark: CHUNK_BYTES });
  }

  async remove(): Promise<void> {
    this.folder.give(await this.size().catch(() => 0));
    await rm(this.factsPath, { force: true });
    await rm(this.bytesPath, { force: true });
  }
}

function noRoom(why: string): RpcError {
  const hint = "raise maxUploads or maxBytes of fileUploads, or wait until calls have taken what is there";
  return new RpcError("resource_exhausted", `the folder of uploads has no room: ${why}`, { hint });
}
