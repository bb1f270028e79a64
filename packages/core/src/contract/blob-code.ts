import type { AnyMethod } from "./descriptor.js";

/** A schema of a blob has its options by this key, across copies of this module. */
export const BLOB: unique symbol = Symbol.for("quicrpc.blob") as typeof BLOB;

/** One field that is a blob. */
export interface BlobField {
  readonly name: string;
  /** Undefined: as `limits.maxBlobBytes` says. */
  readonly maxBytes?: number | undefined;
}

/** The fields of a method's messages that are blobs. */
export interface BlobFields {
  readonly input?: readonly BlobField[];
  readonly output?: readonly BlobField[];
}

/** The code that sends and receives the blobs of one method. */
export interface BlobCode {
  readonly fields: BlobFields;
  /** Makes a call of the session `host`: `begin` is to make it with an input that refers to its blobs. Returns the answer. */
  call(host: unknown, input: unknown, begin: (input: unknown) => unknown): unknown;
  /** Returns the method's handler as the session `host` serves it. */
  serve(host: unknown, method: AnyMethod, handler: BlobHandler): BlobHandler;
}

/** A handler of any types. */
type BlobHandler = (input: never, context: never) => unknown;

/** Returns the options of a schema that `blob` has made; undefined for another. */
export function blobOptionsOf(schema: object): { readonly maxBytes?: number | undefined } | undefined {
  return (schema as { readonly [BLOB]?: { readonly maxBytes?: number | undefined } })[BLOB];
}
