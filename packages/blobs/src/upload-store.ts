/** State of an upload in a store, without its bytes. */
export interface UploadInfo {
  /** Blob field that the upload is for, as "service/method/field". */
  readonly field: string;
  /** Principal that owns the upload. Empty if the server does not distinguish principals. */
  readonly principal: string;
  /** Length in bytes that the sender has stated. Undefined if unknown. */
  readonly length?: number | undefined;
  /** Media type that the sender has stated (`name` is the stated file name). Empty if there is none. */
  readonly type: string;
  readonly name: string;
  /** SHA-256 of the whole content that the sender has stated, in hexadecimal. Undefined if there is none. */
  readonly sha256?: string | undefined;
  /** True if the sender has sent the last byte. */
  readonly isComplete: boolean;
}

/** One upload in a store. Its methods are never called concurrently. */
export interface StoredUpload {
  readonly info: UploadInfo;
  /** Returns the number of stored bytes. */
  size(): Promise<number>;
  /**
   * Writes bytes at the position `at`, which is the end of the stored bytes. Rejects with an `RpcError` if there is no
   * room.
   */
  write(bytes: Uint8Array, at: number): Promise<void>;
  /** Resolves when the written bytes are as durable as this store can make them. */
  sync(): Promise<void>;
  /** Replaces the stored state of the upload. */
  note(info: UploadInfo): Promise<void>;
  /** Returns all stored bytes. */
  read(): AsyncIterable<Uint8Array>;
  remove(): Promise<void>;
}

/** Stores the bytes of HTTP uploads until the call that uses them arrives. */
export interface UploadStore {
  /** Maximum size of one upload in bytes. Default: the limit of the upload's blob field. */
  readonly maxBytes?: number;
  /**
   * Creates an upload. The store calls `onRemoved` if it removes the upload to make room.
   *
   * @param owner principal of the upload, or the address of its client if there is no principal
   */
  create(id: string, info: UploadInfo, onRemoved: () => void, owner: string): Promise<StoredUpload>;
  /** Returns an upload that this or another process has created. Returns undefined if it does not exist. */
  find(id: string): Promise<StoredUpload | undefined>;
  /**
   * Removes uploads that were left by processes that have ended.
   *
   * @param before time in milliseconds since the epoch; uploads that have not changed since then are removed
   */
  expire?(before: number): Promise<void>;
}
