import { type Limits, RpcError, type ServerLoad } from "@quicrpc/core";
import { quotaOf } from "@quicrpc/blobs/internal";
import { Upload } from "./upload.js";
import type { StoredUpload, UploadInfo, UploadStore } from "@quicrpc/blobs";

/**
 * Maximum number of uploads, and of downloads, of all clients together. It applies in addition to each principal's
 * limits, because a client may have many principals.
 */
export const MAX_RESOURCES = 16_384;

export interface Requester {
  /**
   * Principal that the resource belongs to. Empty if callers are not distinguished: then every client that knows the id
   * may use the resource.
   */
  readonly principal: string;
  /** Name under which limits count the resource: the principal, or the client's address if there is none. */
  readonly counted: string;
}

/** All uploads that no call has used yet. */
export class PendingUploads {
  private readonly store: UploadStore;
  private readonly maxAgeMs: number;
  private readonly load: ServerLoad;
  private readonly limits: Limits;
  /** Uploads by id, including those that are being removed. */
  private readonly known: Map<string, Upload> = new Map();
  /**
   * Queues of requests that look up or create the upload with the same id. Each promise resolves when the last request
   * in the queue is done.
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

  /** Returns the maximum bytes of an upload for a field that allows `maxBytes`; the store may allow fewer. */
  mostOf(maxBytes: number): number {
    return Math.min(maxBytes, this.store.maxBytes ?? maxBytes);
  }

  /**
   * Creates an upload. Throws `RpcError` `resource_exhausted` if its owner has too many, and `already_exists` if the id
   * is in use.
   *
   * @param maxBytes bytes that are charged if the length of the upload is unknown
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

  /**
   * Returns the upload with this id that belongs to a field. Throws `RpcError` `not_found` if the requesting principal
   * has none.
   */
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
      // An upload that is not in `known` was created by another process, or by an earlier run of this one.
      return known ?? this.enter(id, counted, stored.info.length ?? maxBytes, async () => stored);
    });
  }

  /** Runs `act`, which looks up or creates an upload, after all earlier requests with the same id. */
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
