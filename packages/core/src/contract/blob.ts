import { z } from "zod";
import { BLOB } from "./blob-code.js";

/** Options of `blob`. */
export interface BlobOptions {
  /** Bytes that its receiver takes. A larger one is refused before any of it is read. Default: `limits.maxBlobBytes`. */
  readonly maxBytes?: number;
}

/** The schema of a blob. */
export type BlobSchema = z.ZodTuple<[z.ZodInt, z.ZodNullable<z.ZodInt>, z.ZodString, z.ZodString]>;

/**
 * Declares a field that is a blob: a file or another sequence of bytes, of any length, beside the other fields of an input or output. It travels on a stream
 * of its own when its receiver reads it. The field is one of the object that is the whole message, and may be `optional`.
 */
export function blob({ maxBytes }: BlobOptions = {}): BlobSchema {
  if (maxBytes !== undefined && !(Number.isSafeInteger(maxBytes) && maxBytes > 0)) {
    throw new TypeError(`blob({ maxBytes }) takes a positive integer, not ${String(maxBytes)}`);
  }
  const reference = z.tuple([z.int().min(0), z.int().min(0).nullable(), z.string().max(255), z.string().max(1024)]);
  return Object.assign(reference, { [BLOB]: { maxBytes } });
}
