import { randomUUID } from "node:crypto";
import { RpcError } from "@quicrpc/core";
import type {
  SharedFile,
  WhiteboardUploadInputItem,
  WhiteboardUploadInputItemFileFile,
} from "../generated/whiteboard.js";
import { LIMITS } from "./limits.js";

interface StoredFile {
  readonly file: SharedFile;
  readonly parts: readonly Uint8Array[];
}

/** The files that were shared lately. */
export class Files {
  private readonly stored: Map<string, StoredFile> = new Map();
  private storedBytes = 0;
  private arrivingBytes = 0;

  /** Takes a file of exactly the size that was announced. */
  async receive(items: AsyncIterable<WhiteboardUploadInputItem>): Promise<SharedFile> {
    const iterator = items[Symbol.asyncIterator]();
    // Ends the items, and by that the upload.
    const deadline = setTimeout(() => void iterator.return?.(), LIMITS.uploadMs);
    try {
      const first = await iterator.next();
      if (first.done === true || first.value.type !== "file") throw invalid("the first item must be the file's name");
      const { file } = first.value;
      this.reserve(file.size);
      try {
        return this.keep(file, await collect(file, iterator));
      } finally {
        this.arrivingBytes -= file.size;
      }
    } finally {
      clearTimeout(deadline);
      // Whoever sends more is told to stop.
      await iterator.return?.();
    }
  }

  /** Throws `not_found` for a file that had to go. */
  partsOf(id: string): readonly Uint8Array[] {
    const found = this.stored.get(id);
    if (found === undefined) throw new RpcError("not_found", "this file is no longer kept");
    return found.parts;
  }

  private reserve(bytes: number): void {
    if (this.arrivingBytes + bytes > LIMITS.uploadBytes) {
      throw new RpcError("resource_exhausted", "too much is being uploaded: try again later");
    }
    this.arrivingBytes += bytes;
  }

  private keep(announced: WhiteboardUploadInputItemFileFile, parts: readonly Uint8Array[]): SharedFile {
    const file = { ...announced, id: randomUUID() };
    this.stored.set(file.id, { file, parts });
    this.storedBytes += file.size;
    for (const [id, old] of this.stored) {
      if (this.storedBytes <= LIMITS.fileBytes) break;
      this.stored.delete(id);
      this.storedBytes -= old.file.size;
    }
    return file;
  }
}

async function collect(
  { size }: WhiteboardUploadInputItemFileFile,
  iterator: AsyncIterator<WhiteboardUploadInputItem>,
): Promise<readonly Uint8Array[]> {
  const parts: Uint8Array[] = [];
  let received = 0;
  for (;;) {
    const next = await iterator.next();
    if (next.done === true) break;
    if (next.value.type !== "part") throw invalid("a file has one name");
    received += next.value.bytes.length;
    if (received > size) throw invalid(`more came than the ${size} bytes that were announced`);
    parts.push(next.value.bytes);
  }
  if (received < size) throw invalid(`${received} of ${size} bytes came`);
  return parts;
}

function invalid(message: string): RpcError {
  return new RpcError("invalid_argument", message);
}
