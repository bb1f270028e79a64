import { bytesCodec, uncheckedCodec } from "../call/messages/codec.js";
import { serverStreamCalls } from "../client/server-stream.js";
import { describeMethod, type MethodDescriptor } from "../contract/descriptor.js";
import { defaultServiceId } from "../contract/service-id.js";

const NAME = "quicrpc.v1.Blobs";

/** A request for the bytes of a blob. */
export interface ReadBlob {
  /** The number that the peer gave the blob. */
  readonly ref: number;
}

/** How a blob is read: a call of its receiver to its sender, on a stream that others leave before. */
export const readBlob: MethodDescriptor<"server_stream", ReadBlob, ReadBlob, Uint8Array, Uint8Array> = describeMethod(
  { name: NAME, id: defaultServiceId(NAME) },
  serverStreamCalls,
  "read",
  { id: 1, input: uncheckedCodec<ReadBlob>(), output: bytesCodec, priority: -1 },
);
