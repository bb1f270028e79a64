import { RpcError } from "@quicrpc/core";
import {
  bytesCodec,
  defaultServiceId,
  describeMethod,
  type MethodDescriptor,
  serverStreamCalls,
  uncheckedCodec,
} from "@quicrpc/core/generated";
import type { UnsharedBytes } from "@quicrpc/core/internal";

const NAME = "quicrpc.v1.Blobs";

/** A request to read a blob. */
export interface ReadBlob {
  /** The blob's number, from its reference. */
  readonly ref: number;
  /** Number of bytes that the receiver has; it requests those that follow. */
  readonly from?: number;
  /** SHA-256 of the bytes that the receiver has, in hexadecimal. The sender compares it with its own. */
  readonly sha256?: string;
  /** True to request the digest of the whole blob, in the trailer `sha-256`. */
  readonly digest?: boolean;
}

/** Name of the trailer with the digest of the whole blob. */
export const DIGEST_TRAILER = "sha-256";

/** Returns the error for a blob that differs from the one whose beginning was transferred before. */
export function changedBlob(difference: string): RpcError {
  const hint = "the file was changed, or another was chosen: begin anew, without what was transferred";
  return new RpcError("failed_precondition", `the blob has changed since the transfer started: ${difference}`, {
    hint,
  });
}

/** The method that a receiver calls to read a blob. It streams at a low priority, so that other calls go first. */
export const readBlob: MethodDescriptor<"server_stream", ReadBlob, ReadBlob, Uint8Array, UnsharedBytes> =
  describeMethod({ name: NAME, id: defaultServiceId(NAME) }, serverStreamCalls, "read", {
    id: 1,
    input: uncheckedCodec<ReadBlob>(),
    output: bytesCodec,
    priority: -1,
  });
