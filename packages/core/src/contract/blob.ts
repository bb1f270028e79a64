import { z } from "zod";
import { checkOptions } from "../check-options.js";
import { BLOB, type BlobRules } from "./blob-code.js";

/** Options of `blob`. */
export interface BlobOptions {
  /** Bytes that its receiver takes. A larger one is refused before any of it is read. Default: `limits.maxBlobBytes`. */
  readonly maxBytes?: number;
  /** The receiver checks the SHA-256 of the whole blob before its last read ends. Costs hashing at both ends. Default: no digest. */
  readonly digest?: "sha-256";
  /**
   * Whether a call that loses its session is made anew on the next one, and the blob goes on where it was. The method's
   * handler may then be entered more than once for one call. Default false.
   */
  readonly resumable?: boolean;
}

type Reference = [z.ZodInt, z.ZodNullable<z.ZodInt>, z.ZodString, z.ZodString];

/** The schema of a blob. */
export type BlobSchema = z.ZodTuple<Reference> | z.ZodTuple<[...Reference, z.ZodString]>;

/**
 * Declares a field that is a blob: a file or another sequence of bytes, of any length, beside the other fields of an input or output. It travels on a stream
 * of its own when its receiver reads it. The field is one of the object that is the whole message, and may be `optional`.
 */
export function blob(options: BlobOptions = {}): BlobSchema {
  checkOptions("blob()", options, { digest: true, maxBytes: true, resumable: true });
  const { maxBytes, digest, resumable } = options;
  if (maxBytes !== undefined && !(Number.isSafeInteger(maxBytes) && maxBytes > 0)) {
    throw new TypeError(`blob({ maxBytes }) takes a positive integer, not ${String(maxBytes)}`);
  }
  if (digest !== undefined && digest !== "sha-256")
    throw new TypeError(`blob({ digest }) takes "sha-256", not ${String(digest)}`);
  if (resumable !== undefined && typeof resumable !== "boolean")
    throw new TypeError(`blob({ resumable }) takes true or false, not ${String(resumable)}`);
  const said: Reference = [z.int().min(0), z.int().min(0).nullable(), z.string().max(255), z.string().max(1024)];
  const reference = resumable === true ? z.tuple([...said, z.string().max(32)]) : z.tuple(said);
  return Object.assign(reference, { [BLOB]: { maxBytes, digest, resumable } satisfies BlobRules });
}
