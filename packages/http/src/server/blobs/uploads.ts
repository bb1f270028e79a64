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
  /** Those that are there, and those that are being removed. */
  private readonly known: Map<string, Upload> = new Map();
  /** For each id that a request looks for in the store: fulfils when the last of them has done so, and made its upload. */
  private readonly turns: Map<string, Promise<unknown>> = new Map();
  /** Uploads, those that are being made among them. */
  private count = 0;

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
    return this.inTurn(id, async () => {
      if (this.known.has(id) || (await this.store.find(id)) !== undefined)
        throw new RpcError("already_exists", "there is an upload with this id: HEAD says how much of it");
      await this.store.expire?.(Date.now() - this.maxAgeMs);
      return this.enter(id, counted, facts.length ?? maxBytes, (onRemoved) =>
        this.store.create(id, facts, onRemoved, counted),
      );
    });
  }

  /** The upload of a field with this id. Throws `RpcError` `not_found` where there is none of this principal. */
  async find(id: string, field: string, { principal, counted }: Requester, maxBytes: number): Promise<Upload> {
    return this.inTurn(id, async () => {
      const known = this.known.get(id);
      const stored = known === undefined ? await this.store.find(id) : known.stored;
      if (
        known?.isGone === true ||
        stored === undefined ||
        stored.facts.principal !== principal ||
        stored.facts.field !== field
      )
        throw new RpcError("not_found", "there is no such upload, or not any more");
      // One that is not known was begun by another process, or by this one before it ended.
      return known ?? this.enter(id, counted, stored.facts.length ?? maxBytes, async () => stored);
    });
  }

  /** Looks for an upload, and makes it, before another request does so with its id. */
  private async inTurn(id: string, act: () => Promise<Upload>): Promise<Upload> {
    const turn = (this.turns.get(id) ?? Promise.resolve()).then(act);
    const over = turn.catch(() => {});
    this.turns.set(id, over);
    try {
      return await turn;
    } finally {
      if (this.turns.get(id) === over) this.turns.delete(id);
    }
  }

  private async enter(
    id: string,
    counted: string,
    bytes: number,
    made: (onRemoved: () => void) => Promise<StoredUpload>,
  ): Promise<Upload> {
    if (this.count >= MAX_RESOURCES)
      throw new RpcError("resource_exhausted", `${MAX_RESOURCES} uploads wait for calls`);
    const release = quotaOf(this.load).enter(counted, 1, bytes, this.limits);
    this.count++;
    const leave = (): void => {
      release();
      this.count--;
    };
    let removed: RpcError | undefined;
    let upload: Upload | undefined;
    try {
      const stored = await made(() => {
        removed = new RpcError("resource_exhausted", "the upload was removed: others need its memory");
        upload?.gone(removed);
      });
      if (removed !== undefined) throw removed;
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
