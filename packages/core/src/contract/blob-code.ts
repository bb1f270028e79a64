import type { CallingCode } from "./descriptor.js";

/** A schema of a blob has its options by this key, across copies of this module. */
export const BLOB: unique symbol = Symbol.for("quicrpc.blob") as typeof BLOB;

/** Rules of a schema for a blob. */
export interface BlobRules {
  /** Undefined: as `limits.maxBlobBytes` says. */
  readonly maxBytes?: number | undefined;
  /** Digest of the whole blob, which its receiver checks. */
  readonly digest?: "sha-256" | undefined;
  /** Its call is made anew after the loss of its session, and the blob goes on where it was. */
  readonly resumable?: boolean | undefined;
}

/** One field that is a blob. */
export interface BlobField extends BlobRules {
  readonly name: string;
}

/** The fields of a method's messages that are blobs. */
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
   * Makes one call of a host that is no session of its own: `begin` makes it with an input that refers to its blobs, and returns the answer, which
   * refers to those of the peer.
   */
  call(host: unknown, input: unknown, begin: (sent: unknown) => Promise<unknown>): Promise<unknown>;
  /**
   * Returns a copy of an input whose blobs tell `onSent` when bytes of one of its fields were handed over: the position behind the last of them, which
   * begins anew where a blob does. Throws `RpcError` for what is no blob.
   */
  observed(input: unknown, onSent: (field: string, bytes: number) => void): object;
  /** Returns the method's handler as a session serves it that has these settings of its dispatcher. */
  serve(settings: unknown, handler: BlobHandler): BlobHandler;
}

/** A handler of any types. */
type BlobHandler = (input: never, context: never) => unknown;

/** Returns the options of a schema that `blob` has made; undefined for another. */
export function blobOptionsOf(schema: object): BlobRules | undefined {
  return (schema as { readonly [BLOB]?: BlobRules })[BLOB];
}
