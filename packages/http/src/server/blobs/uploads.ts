import { type Limits, RpcError, type ServerLoad } from "@quicrpc/core";
import { quotaOf } from "@quicrpc/blobs/internal";
import { Upload } from "./upload.js";
import type { StoredUpload, UploadInfo, UploadStore } from "@quicrpc/blobs";

/**
 * Maximum number of uploads, and of downloads, of all clients together. It applies in addition to the limits of each
 * principal, since a client may have many principals.
 */
export const MAX_RESOURCES = 16_384;

/** The requester of a resource. */
export interface Requester {
  /**
   * The caller that a resource is bound to. Empty if callers are not distinguished: then anyone who knows the id may
   * use the resource.
   */
  readonly principal: string;
  /** The principal that limits count it for, otherwise the client's address. */
  readonly counted: string;
}

/** The uploads that wait for their calls. */
export class Uploads {
  private readonly store: UploadStore;
  private readonly maxAgeMs: number;
  private readonly load: ServerLoad;
  private readonly limits: Limits;
  /** Existing uploads, including those that are being removed. */
  private readonly known: Map<string, Upload> = new Map();
  /**
   * For each id that requests are looking up in the store: resolves when the last of them has done so and created its
   * upload.
   */
  private readonly turns: Map<string, Promise<unknown>> = new Map();
  /** Number of uploads, including those that are being created. */
  private count = 0;

  constructor(store: UploadStore, maxAgeMs: number, load: ServerLoad, limits: Limits) {
    this.store = store;
    this.maxAgeMs = maxAgeMs;
    this.load = load;
    this.limits = limits;
  }

  /** Returns the maximum bytes of an upload whose field allows `maxBytes`. */
  mostOf(maxBytes: number): number {
    return Math.min(maxBytes, this.store.maxBytes ?? maxBytes);
  }

  /**
   * Begins an upload. Throws `RpcError` `resource_exhausted` if its principal has too many, and `already_exists` if the
   * id is in use.
   *
   * @param maxBytes size that is charged if its length is unknown
   */
  async create(id: string, info: UploadInfo, { counted }: Requester, maxBytes: number): Promise<Upload> {
    return this.inTurn(id, async () => {
      if (this.known.has(id) || (await this.store.find(id)) !== undefined)
        throw new RpcError("already_exists", "an upload with this id exists: HEAD returns its offset");
      await this.store.expire?.(Date.now() - this.maxAgeMs);
      return this.enter(id, counted, info.length ?? maxBytes, (onRemoved) =>
        this.store.create(id, info, onRemoved, counted),
      );
    });
  }

  /** Returns the upload of a field with this id. Throws `RpcError` `not_found` if this principal has none. */
  async find(id: string, field: string, { principal, counted }: Requester, maxBytes: number): Promise<Upload> {
    return this.inTurn(id, async () => {
      const known = this.known.get(id);
      const stored = known === undefined ? await this.store.find(id) : known.stored;
      if (
        known?.isGone === true ||
        stored === undefined ||
        stored.info.principal !== principal ||
        stored.info.field !== field
      )
        throw new RpcError("not_found", "the upload does not exist or has expired");
      // Otherwise it was created by another process, or by an earlier run of this one.
      return known ?? this.enter(id, counted, stored.info.length ?? maxBytes, async () => stored);
    });
  }

  /** Looks up or creates an upload before another request with the same id does so. */
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
        removed = new RpcError("resource_exhausted", "the upload was removed to free memory");
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
