import { type Limits, RpcError, type ServerLoad } from "@quicrpc/core";
import { MemoryBudget, requireRoom } from "@quicrpc/core/transport";
import type { StoredUpload, UploadFacts, UploadStore } from "@quicrpc/core/transport";

/** Bytes that an upload counts beside those that were sent, and each piece. */
const UPLOAD_BYTES = 4096;
const PIECE_BYTES = 96;

/** Uploads in the memory of the process. Each counts as a session does: in the memory of the server, of which the largest are removed where it is full. */
export class MemoryUploads implements UploadStore {
  readonly maxBytes: number;
  private readonly load: ServerLoad;
  private readonly uploads: Map<string, MemoryUpload> = new Map();

  constructor(load: ServerLoad, { maxSessionBytes }: Limits) {
    this.load = load;
    this.maxBytes = maxSessionBytes;
  }

  async create(id: string, facts: UploadFacts, onRemoved: () => void): Promise<StoredUpload> {
    if (this.uploads.has(id)) throw new RpcError("already_exists", "there is an upload with this id");
    const budget = new MemoryBudget(this.maxBytes + UPLOAD_BYTES, "limits.maxSessionBytes", this.load);
    requireRoom(budget, UPLOAD_BYTES, "the upload");
    const upload: MemoryUpload = new MemoryUpload(facts, budget, () => {
      this.load.remove(place);
      this.uploads.delete(id);
    });
    const onEvicted = (): void => {
      upload.drop();
      onRemoved();
    };
    const place = this.load.add({ budget, onEvicted });
    this.uploads.set(id, upload);
    return upload;
  }

  async find(id: string): Promise<StoredUpload | undefined> {
    return this.uploads.get(id);
  }
}

class MemoryUpload implements StoredUpload {
  facts: UploadFacts;
  private readonly pieces: Uint8Array[] = [];
  private bytes = 0;
  private held = UPLOAD_BYTES;
  private readonly budget: MemoryBudget;
  private readonly onDropped: () => void;
  private dropped = false;

  constructor(facts: UploadFacts, budget: MemoryBudget, onDropped: () => void) {
    this.facts = facts;
    this.budget = budget;
    this.onDropped = onDropped;
    budget.charge(UPLOAD_BYTES);
  }

  async size(): Promise<number> {
    return this.bytes;
  }

  async write(bytes: Uint8Array): Promise<void> {
    // A piece may be a view of a buffer that is larger, or used again.
    const piece = bytes.slice();
    const counted = piece.length + PIECE_BYTES;
    requireRoom(this.budget, counted, "the upload");
    // Making room may have removed this one.
    if (this.dropped) throw this.budget.refusal("the upload");
    this.budget.charge(counted);
    this.held += counted;
    this.bytes += piece.length;
    this.pieces.push(piece);
  }

  async sync(): Promise<void> {}

  async note(facts: UploadFacts): Promise<void> {
    this.facts = facts;
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
    this.pieces.length = 0;
    this.onDropped();
  }
}
