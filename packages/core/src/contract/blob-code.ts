import type { CallingCode } from "./descriptor.js";

/** Key of the blob options in a schema; a registered symbol, so that all copies of this module share it. */
export const BLOB: unique symbol = Symbol.for("quicrpc.blob") as typeof BLOB;

/** Options of a blob schema, as the runtime needs them. */
export interface BlobRules {
  /** Most bytes. Undefined: `limits.maxBlobBytes`. */
  readonly maxBytes?: number | undefined;
  /** The digest of the whole blob that the receiver checks. */
  readonly digest?: "sha-256" | undefined;
  /** If true, the call is repeated after a lost session and the transfer resumes. */
  readonly resumable?: boolean | undefined;
}

/** A field whose value is a blob. */
export interface BlobField extends BlobRules {
  readonly name: string;
}

/** The blob fields of a method's messages. */
export interface BlobFields {
  readonly input?: readonly BlobField[] | undefined;
  readonly output?: readonly BlobField[] | undefined;
}

/** The code that sends and receives the blobs of one method. */
export interface BlobCode {
  readonly fields: BlobFields;
  /** The code that makes the method's calls. */
  readonly calling: CallingCode;
  /**
   * Makes one call for a host that is not a session. `begin` makes the call with an input in which references replace
   * the blobs, and returns a response with references to the peer's blobs.
   */
  call(host: unknown, input: unknown, begin: (sent: unknown) => Promise<unknown>): Promise<unknown>;
  /**
   * Returns a copy of an input that reports progress: `onSent` receives a field's name and the number of bytes of its
   * blob that have been handed over. The number restarts if the blob is sent again. Throws `RpcError` if a field is not
   * a blob.
   */
  observed(input: unknown, onSent: (field: string, bytes: number) => void): object;
  /** Wraps the method's handler, for a session with these dispatcher settings. */
  serve(settings: unknown, bound: BlobHandlers): BlobHandler;
}

/** A handler of any types. */
type BlobHandler = (input: never, context: never) => unknown;

/** The handler of a method with blobs, and the check that decides about callers whose blobs are refused. */
interface BlobHandlers {
  readonly handler: BlobHandler;
  readonly authorize?: ((context: never) => Promise<void>) | undefined;
}

/** Returns the options of a schema made by `blob`; undefined for other schemas. */
export function blobOptionsOf(schema: object): BlobRules | undefined {
  return (schema as { readonly [BLOB]?: BlobRules })[BLOB];
}
