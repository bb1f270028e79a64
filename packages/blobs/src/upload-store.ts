/** State of an upload in a store, besides its bytes. */
export interface UploadInfo {
  /** The blob field of the upload, as "service/method/field". */
  readonly field: string;
  /** The principal that owns the upload; empty if principals are not distinguished. */
  readonly principal: string;
  /** Length in bytes, if the sender has stated it. */
  readonly length?: number | undefined;
  /** The media type, as the sender states it (and `name` the file name); empty if it states none. */
  readonly type: string;
  readonly name: string;
  /** SHA-256 of the whole content, as the sender states it, in hexadecimal. */
  readonly sha256?: string | undefined;
  /** True after the sender has sent the last byte. */
  readonly isComplete: boolean;
}

/** One upload in a store. Its methods are never called concurrently. */
export interface StoredUpload {
  readonly info: UploadInfo;
  /** Returns the number of bytes stored. */
  size(): Promise<number>;
  /** Writes bytes at position `at`, which is the current end. Rejects with an `RpcError` if there is no room. */
  write(bytes: Uint8Array, at: number): Promise<void>;
  /** Resolves when what was written is as durable as the store makes it. */
  sync(): Promise<void>;
  /** Replaces the stored information. */
  note(info: UploadInfo): Promise<void>;
  /** Returns all bytes, from the first on. */
  read(): AsyncIterable<Uint8Array>;
  remove(): Promise<void>;
}

/** Stores the bytes of uploads over HTTP until the call that uses them arrives. */
export interface UploadStore {
  /** Most bytes of one upload. Default: the limit of its field. */
  readonly maxBytes?: number;
  /**
   * Creates an upload. The store calls `onRemoved` if it removes the upload to make room.
   *
   * @param owner its principal, or else its client's address
   */
  create(id: string, info: UploadInfo, onRemoved: () => void, owner: string): Promise<StoredUpload>;
  /** Finds an upload that this process or another has created. */
  find(id: string): Promise<StoredUpload | undefined>;
  /**
   * Removes uploads that processes which have ended left behind.
   *
   * @param before uploads not changed since this time are removed; milliseconds since the epoch
   */
  expire?(before: number): Promise<void>;
}
