import { createHash } from "node:crypto";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { RpcError } from "@quicrpc/core";
import type { DescribedBlob, ReceivedBlob } from "@quicrpc/blobs";
import { fileBlob, saveBlob } from "@quicrpc/node";
import type { SharedFile } from "../generated/whiteboard.js";
import { LIMITS } from "./limits.js";

/** Recently shared files, in a folder. */
export class Files {
  private readonly folder: string;
  private arrivingBytes = 0;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Stores a file. It replaces a file of the same participant with the same name. */
  async receive(by: string, name: string, file: ReceivedBlob): Promise<SharedFile> {
    const size = file.length;
    if (size === undefined) throw new RpcError("invalid_argument", "say how large the file is");
    if (this.arrivingBytes + size > LIMITS.uploadBytes) {
      throw new RpcError("resource_exhausted", "too much is being uploaded: try again later");
    }
    this.arrivingBytes += size;
    try {
      const id = createHash("sha256").update(`${by}/${name}`).digest("hex");
      await mkdir(this.folder, { recursive: true });
      await saveBlob(file, join(this.folder, id), { signal: AbortSignal.timeout(LIMITS.uploadMs) });
      await this.removeOldest();
      return { id, name: file.name?.slice(-200) || "file", type: file.type?.slice(0, 100) ?? "", size };
    } finally {
      this.arrivingBytes -= size;
    }
  }

  /** Throws `not_found` for a file that was removed. */
  async find(id: string): Promise<DescribedBlob> {
    const gone = new RpcError("not_found", "this file is no longer kept");
    if (!/^[0-9a-f]{64}$/.test(id)) throw gone;
    return fileBlob(join(this.folder, id)).catch(() => {
      throw gone;
    });
  }

  private async removeOldest(): Promise<void> {
    const paths = (await readdir(this.folder)).map((name) => join(this.folder, name));
    const files = await Promise.all(paths.map(async (path) => ({ path, is: await stat(path) })));
    let bytes = 0;
    for (const { path, is } of files.sort((one, other) => other.is.mtimeMs - one.is.mtimeMs)) {
      bytes += is.size;
      if (bytes > LIMITS.fileBytes) await rm(path, { force: true });
    }
  }
}
