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

export interface ReadBlob {
  readonly ref: number;
  /** Number of bytes that the receiver already has. The sender sends the bytes that follow. */
  readonly from?: number;
  /** SHA-256 of the bytes that the receiver already has, in hexadecimal. The sender compares it with its own bytes. */
  readonly sha256?: string;
  /** True to request the digest of the whole blob in the trailer `sha-256`. */
  readonly digest?: boolean;
}

export const DIGEST_TRAILER = "sha-256";

/** Creates the error for a blob whose beginning differs from the bytes that were transferred before. */
export function changedBlob(difference: string): RpcError {
  const hint = "the file was changed, or another was chosen: begin anew, without what was transferred";
  return new RpcError("failed_precondition", `the blob has changed since the transfer started: ${difference}`, {
    hint,
  });
}

/** Method that a receiver calls to read a blob. Its stream has a low priority, so that other calls are sent first. */
export const readBlob: MethodDescriptor<"server_stream", ReadBlob, ReadBlob, Uint8Array, UnsharedBytes> =
  describeMethod({ name: NAME, id: defaultServiceId(NAME) }, serverStreamCalls, "read", {
    id: 1,
    input: uncheckedCodec<ReadBlob>(),
    output: bytesCodec,
    priority: -1,
  });
