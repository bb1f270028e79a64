/** Facts about an upload beside its bytes. */
export interface UploadFacts {
  /** The field that it is for, as "service/method/field". */
  readonly field: string;
  /** Whose it is: empty where callers are not told apart. */
  readonly principal: string;
  /** Bytes, where its sender has said how many there will be. */
  readonly length?: number | undefined;
  /** The media type and the file's name that its sender says; empty where it says none. */
  readonly type: string;
  readonly name: string;
  /** The SHA-256 of all of it that its sender says, in hexadecimal digits. */
  readonly sha256?: string | undefined;
  /** Its sender has said that there is no more. */
  readonly isComplete: boolean;
}

/** One upload in a store. Calls for one do not overlap. */
export interface StoredUpload {
  readonly facts: UploadFacts;
  /** Bytes that are there. */
  size(): Promise<number>;
  /** Writes bytes at a position, which is the end. Rejects with an `RpcError` where there is no room. */
  write(bytes: Uint8Array, at: number): Promise<void>;
  /** Fulfils when what was written outlives what the store outlives. */
  sync(): Promise<void>;
  /** Replaces the facts. */
  note(facts: UploadFacts): Promise<void>;
  /** All bytes, from the first on. */
  read(): AsyncIterable<Uint8Array>;
  remove(): Promise<void>;
}

/** Keeps the bytes of uploads over HTTP until the call that they are for. */
export interface UploadStore {
  /** Most bytes of one upload. Default: what its field takes. */
  readonly maxBytes?: number;
  /**
   * Begins one. `onRemoved` is called when the store itself has removed it, to make room.
   *
   * @param owner its principal, else its client's address
   */
  create(id: string, facts: UploadFacts, onRemoved: () => void, owner: string): Promise<StoredUpload>;
  /** Finds one that this process or another has begun. */
  find(id: string): Promise<StoredUpload | undefined>;
  /** Removes what was left, by processes that are no more, since before that time in milliseconds since the epoch. */
  expire?(before: number): Promise<void>;
}
