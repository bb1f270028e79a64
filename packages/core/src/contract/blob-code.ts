import type { CallingCode } from "./descriptor.js";

/**
 * Key under which a blob schema stores its options. A registered symbol, so that all copies of this module share it.
 */
export const BLOB: unique symbol = Symbol.for("quicrpc.blob") as typeof BLOB;

export interface BlobRules {
  /** Maximum size of the blob in bytes; undefined for `limits.maxBlobBytes`. */
  readonly maxBytes?: number | undefined;
  /** Digest of the whole blob, which the receiver checks; undefined for none. */
  readonly digest?: "sha-256" | undefined;
  /** If true and the session is lost, the call is repeated and the transfer of the blob resumes. */
  readonly resumable?: boolean | undefined;
}

export interface BlobField extends BlobRules {
  readonly name: string;
}

/** The blob fields of a method's input and output. */
export interface BlobFields {
  readonly input?: readonly BlobField[] | undefined;
  readonly output?: readonly BlobField[] | undefined;
}

/**
 * The code that sends and receives the blobs of one method. A method descriptor refers to it, so that other methods do
 * not load it.
 */
export interface BlobCode {
  readonly fields: BlobFields;
  readonly calling: CallingCode;
  /**
   * Makes one call for a transport that has no session, such as HTTP. Calls `begin` with an input in which references
   * replace the blobs; `begin` resolves with a response that contains references to the peer's blobs.
   */
  call(host: unknown, input: unknown, begin: (sent: unknown) => Promise<unknown>): Promise<unknown>;
  /**
   * Returns a copy of an input that reports its progress by `onSent`, with the name of a field and the number of bytes
   * of its blob that have been handed to the transport. The number restarts if the blob is sent again. Throws
   * `RpcError` if a field is not a blob.
   */
  observed(input: unknown, onSent: (field: string, bytes: number) => void): object;
  serve(settings: unknown, bound: BlobHandlers): BlobHandler;
}

type BlobHandler = (input: never, context: never) => unknown;

/** The handler of a method with blobs, and the permission check for callers whose blobs are refused. */
interface BlobHandlers {
  readonly handler: BlobHandler;
  readonly authorize?: ((context: never) => Promise<void>) | undefined;
}

/** Returns the options of a schema made by `blob`; undefined for other schemas. */
export function blobOptionsOf(schema: object): BlobRules | undefined {
  return (schema as { readonly [BLOB]?: BlobRules })[BLOB];
}
