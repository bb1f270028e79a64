import type { UnsharedBytes } from "../platform-types.js";
import { bytesCodec, uncheckedCodec } from "../call/messages/codec.js";
import { serverStreamCalls } from "../client/server-stream.js";
import { describeMethod, type MethodDescriptor } from "../contract/descriptor.js";
import { defaultServiceId } from "../contract/service-id.js";
import { RpcError } from "../errors.js";

const NAME = "quicrpc.v1.Blobs";

/** A request for the bytes of a blob. */
export interface ReadBlob {
  /** The number that the peer gave the blob. */
  readonly ref: number;
  /** Bytes that the receiver has: it wants those that follow. */
  readonly from?: number;
  /** Digest of the bytes that the receiver has, in hexadecimal digits; the sender's own must have the same. */
  readonly sha256?: string;
  /** The receiver wants the digest of the whole blob, as the trailer `sha-256`. */
  readonly digest?: boolean;
}

/** The trailer with the digest of a whole blob. */
export const DIGEST_TRAILER = "sha-256";

/** The error of a blob that is not the one whose beginning was transferred before. */
export function changedBlob(how: string): RpcError {
  const hint = "the file was changed, or another was chosen: begin anew, without what was transferred";
  return new RpcError("failed_precondition", `the blob is not the one that was begun: ${how}`, { hint });
}

/** How a blob is read: a call of its receiver to its sender, on a stream that others leave before. */
export const readBlob: MethodDescriptor<"server_stream", ReadBlob, ReadBlob, Uint8Array, UnsharedBytes> =
  describeMethod({ name: NAME, id: defaultServiceId(NAME) }, serverStreamCalls, "read", {
    id: 1,
    input: uncheckedCodec<ReadBlob>(),
    output: bytesCodec,
    priority: -1,
  });
