import { type Limits, RpcError, type ServerLoad } from "@quicrpc/core";
import { MemoryBudget, requireRoom } from "@quicrpc/core/internal";
import type { StoredUpload, UploadInfo, UploadStore } from "@quicrpc/blobs";

/** Bytes charged for each upload, in addition to its data; `PIECE_BYTES` is charged for each piece. */
const UPLOAD_BYTES = 4096;
const PIECE_BYTES = 96;

/** The owner of uploads, a principal or an address, for the memory limits in `ServerLoad`. */
interface Owner {
  held: number;
}

/**
 * Stores uploads in the memory of the process. Each upload counts toward the server's memory limit like a session. If
 * the limit is reached, the largest uploads of the owner that uses the most memory are removed.
 */
export class MemoryUploads implements UploadStore {
  readonly maxBytes: number;
  private readonly load: ServerLoad;
  private readonly uploads: Map<string, MemoryUpload> = new Map();
  private readonly owners: Map<string, Owner> = new Map();

  constructor(load: ServerLoad, { maxSessionBytes }: Limits) {
    this.load = load;
    this.maxBytes = maxSessionBytes;
  }

  async create(id: string, info: UploadInfo, onRemoved: () => void, name: string): Promise<StoredUpload> {
    if (this.uploads.has(id)) throw new RpcError("already_exists", "there is an upload with this id");
    const budget = new MemoryBudget(this.maxBytes + UPLOAD_BYTES, "limits.maxSessionBytes", this.load);
    requireRoom(budget, UPLOAD_BYTES, "the upload");
    const owner = this.owners.get(name) ?? { held: 0 };
    this.owners.set(name, owner);
    const upload: MemoryUpload = new MemoryUpload(info, budget, owner, () => {
      this.load.remove(place);
      this.uploads.delete(id);
      if (owner.held === 0 && this.owners.get(name) === owner) this.owners.delete(name);
    });
    const onEvicted = (): void => {
      upload.drop();
      onRemoved();
    };
    const place = this.load.add({ budget, owner, onEvicted });
    this.uploads.set(id, upload);
    return upload;
  }

  async find(id: string): Promise<StoredUpload | undefined> {
    return this.uploads.get(id);
  }
}

class MemoryUpload implements StoredUpload {
  info: UploadInfo;
  private readonly pieces: Uint8Array[] = [];
  private bytes = 0;
  private held = 0;
  private readonly budget: MemoryBudget;
  private readonly owner: Owner;
  private readonly onDropped: () => void;
  private dropped = false;

  constructor(info: UploadInfo, budget: MemoryBudget, owner: Owner, onDropped: () => void) {
    this.info = info;
    this.budget = budget;
    this.owner = owner;
    this.onDropped = onDropped;
    this.hold(UPLOAD_BYTES);
  }

  async size(): Promise<number> {
    return this.bytes;
  }

  async write(bytes: Uint8Array): Promise<void> {
    // The piece is copied, because it may be a view of a buffer that is larger or reused.
    const piece = bytes.slice();
    const counted = piece.length + PIECE_BYTES;
    requireRoom(this.budget, counted, "the upload");
    // Freeing memory may have removed this upload.
    if (this.dropped) throw this.budget.refusal("the upload");
    this.hold(counted);
    this.bytes += piece.length;
    this.pieces.push(piece);
  }

  private hold(bytes: number): void {
    this.budget.charge(bytes);
    this.held += bytes;
    this.owner.held += bytes;
  }

  async sync(): Promise<void> {}

  async note(info: UploadInfo): Promise<void> {
    this.info = info;
  }

  async *read(): AsyncGenerator<Uint8Array> {
    yield* this.pieces;
  }

  async remove(): Promise<void> {
    this.drop();
  }

  drop(): void {
    if (this.dropped) return;
    this.dropped = true;
    this.budget.release(this.held);
    this.owner.held -= this.held;
    this.pieces.length = 0;
    this.onDropped();
  }
}
