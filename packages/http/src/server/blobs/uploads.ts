import { type Limits, RpcError, type ServerLoad } from "@quicrpc/core";
import { quotaOf } from "@quicrpc/core/transport";
import { Upload } from "./upload.js";
import type { StoredUpload, UploadFacts, UploadStore } from "@quicrpc/core/transport";

/** Uploads, and downloads, of all clients at once: beside the limits of each principal, since a client may have many. */
export const MAX_RESOURCES = 16_384;

/** Whose a request is. */
export interface Requester {
  /** The caller that a resource is bound to: empty where callers are not told apart, and the id alone says who may have it. */
  readonly principal: string;
  /** The principal that it counts for, else the client's address. */
  readonly counted: string;
}

/** The uploads that wait for their calls. */
export class Uploads {
  private readonly store: UploadStore;
  private readonly maxAgeMs: number;
  private readonly load: ServerLoad;
  private readonly limits: Limits;
  private readonly known: Map<string, Upload> = new Map();

  constructor(store: UploadStore, maxAgeMs: number, load: ServerLoad, limits: Limits) {
    this.store = store;
    this.maxAgeMs = maxAgeMs;
    this.load = load;
    this.limits = limits;
  }

  /** Most bytes of an upload whose field takes `maxBytes`. */
  mostOf(maxBytes: number): number {
    return Math.min(maxBytes, this.store.maxBytes ?? maxBytes);
  }

  /**
   * Begins an upload. Throws `RpcError` `resource_exhausted` where its principal has too many, and `already_exists` for an id that is in use.
   *
   * @param maxBytes what it counts as where its length is not known
   */
  async create(id: string, facts: UploadFacts, { counted }: Requester, maxBytes: number): Promise<Upload> {
    if ((await this.lookUp(id)) !== undefined || this.known.has(id))
      throw new RpcError("already_exists", "there is an upload with this id: HEAD says how much of it");
    await this.store.expire?.(Date.now() - this.maxAgeMs);
    return this.enter(id, counted, facts.length ?? maxBytes, (onRemoved) => this.store.create(id, facts, onRemoved));
  }

  /** The upload of a field with this id. Throws `RpcError` `not_found` where there is none of this principal. */
  async find(id: string, field: string, { principal, counted }: Requester, maxBytes: number): Promise<Upload> {
    const stored = await this.lookUp(id);
    if (stored === undefined || stored.facts.principal !== principal || stored.facts.field !== field)
      throw new RpcError("not_found", "there is no such upload, or not any more");
    const known = this.known.get(id);
    if (known !== undefined) return known;
    // One that another process has begun, or this one before it ended.
    return this.enter(id, counted, stored.facts.length ?? maxBytes, async () => stored);
  }

  private async lookUp(id: string): Promise<StoredUpload | undefined> {
    return this.known.get(id)?.stored ?? (await this.store.find(id));
  }

  private async enter(
    id: string,
    counted: string,
    bytes: number,
    made: (onRemoved: () => void) => Promise<StoredUpload>,
  ): Promise<Upload> {
    if (this.known.size >= MAX_RESOURCES)
      throw new RpcError("resource_exhausted", `${MAX_RESOURCES} uploads wait for calls`);
    const leave = quotaOf(this.load).enter(counted, 1, bytes, this.limits);
    let upload: Upload | undefined;
    try {
      const stored = await made(() =>
        upload?.gone(new RpcError("resource_exhausted", "the upload was removed: others need its memory")),
      );
      const known = this.known.get(id);
      if (known !== undefined) {
        leave();
        return known;
      }
      upload = new Upload(id, stored, this.maxAgeMs, () => {
        leave();
        this.known.delete(id);
      });
    } catch (error) {
      leave();
      throw error;
    }
    this.known.set(id, upload);
    return upload;
  }
}
