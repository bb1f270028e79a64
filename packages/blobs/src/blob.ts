import { z } from "zod";
import { BLOB, type BlobRules, checkOptions } from "@quicrpc/core/internal";

/** Options of `blob`. */
export interface BlobOptions {
  /**
   * Maximum size of the blob in bytes that the receiver accepts. A larger blob is refused before any of its bytes are
   * read. Default: `limits.maxBlobBytes`.
   */
  readonly maxBytes?: number;
  /**
   * Makes the receiver check the SHA-256 of the whole blob at the end. Both sides then hash all bytes. Default: no
   * digest.
   */
  readonly digest?: "sha-256";
  /**
   * If true, a client whose session is lost makes the call again on its next session, and the transfer continues at the
   * byte where it stopped. So the handler may run more than once for one call. Default false.
   */
  readonly resumable?: boolean;
}

type Reference = [z.ZodInt, z.ZodNullable<z.ZodInt>, z.ZodString, z.ZodString];

/** Schema type of a blob field. */
export type BlobSchema = z.ZodTuple<Reference> | z.ZodTuple<[...Reference, z.ZodString]>;

/**
 * Declares a blob field: a file or another byte sequence of any length, in addition to the other fields of an input or
 * output. The bytes are sent on a separate stream when the receiver reads them. The field must be a direct property of
 * the message object, and may be `optional`.
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
  const referenceSchema: Reference = [
    z.int().min(0),
    z.int().min(0).nullable(),
    z.string().max(255),
    z.string().max(1024),
  ];
  const reference = resumable === true ? z.tuple([...referenceSchema, z.string().max(32)]) : z.tuple(referenceSchema);
  return Object.assign(reference, { [BLOB]: { maxBytes, digest, resumable } satisfies BlobRules });
}
