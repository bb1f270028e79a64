import type { MessageCodec } from "../../contract/descriptor.js";
import type { MemoryBudget } from "../../memory-budget.js";
import type { SessionCompression } from "../../transport/compression.js";
import { expand } from "../../transport/expand.js";
import { FLAG_COMPRESSED, type Frame } from "../../wire/frame.js";
import { FrameWriter } from "../../wire/writer.js";
import { decodeWithin } from "../../msgpack/decode-within.js";
import type { SessionFormat } from "./session-format.js";
import { RpcError } from "../../errors.js";
import type { ClientLimits } from "../../client-limits.js";

/** Destination of a payload: usually a channel. */
export interface PayloadTarget {
  readonly out: FrameWriter;
  readonly compression: SessionCompression | undefined;
}

/** The codec of a message on a carrier of `format`; undefined is standard MessagePack, which methods' codecs are made for. */
export function codecIn(
  format: SessionFormat | undefined,
  codec: MessageCodec<unknown> | undefined,
): MessageCodec<unknown> | undefined {
  return format === undefined ? codec : format.of(codec);
}

/**
 * Appends the payload of `value` to the frame started at `mark`. Nothing is appended if the method has no message in
 * this direction. Throws `RpcError` `resource_exhausted` if the frame exceeds the default limit of the peer.
 *
 * @param compress what the caller or handler asks for; undefined: decided by length
 */
export function encodePayload(
  codec: MessageCodec<unknown> | undefined,
  value: unknown,
  { out, compression }: PayloadTarget,
  mark: number,
  maxFrameBytes: number,
  compress?: boolean,
): void {
  const start = out.position;
  codec?.encode(value, out);
  compression?.shrink(out, mark, start, compress);
  const size = out.sizeSince(mark);
  if (size > maxFrameBytes) throw tooLarge(size, maxFrameBytes);
}

/**
 * Decodes the payload at `position` of a frame. Returns undefined if the method has no message there, whatever was
 * sent. Throws `RpcError` `resource_exhausted` if it has more values than the budget has room for. Sets `budget.decodedBytes`.
 */
export function decodePayload(
  codec: MessageCodec<unknown> | undefined,
  { flags, bytes, end }: Frame,
  position: number,
  compression: SessionCompression | undefined,
  budget: MemoryBudget,
): unknown {
  budget.decodedBytes = 0;
  if (codec === undefined) return undefined;
  if ((flags & FLAG_COMPRESSED) === 0) return decodeWithin(budget, codec, bytes, position, end);
  const message = expand(compression, bytes, position, end);
  return decodeWithin(budget, codec, message, 0, message.length);
}

/** Bytes that the payload of `value` takes, for a message that is not sent yet. Throws as `encodePayload` does. */
export function payloadSize(codec: MessageCodec<unknown> | undefined, value: unknown, maxFrameBytes: number): number {
  if (codec === undefined) return 0;
  // A writer of its own: the encoder runs user code, which may measure another.
  const out = new FrameWriter(1024);
  encodePayload(codec, value, { out, compression: undefined }, 0, maxFrameBytes);
  return out.position;
}

/** The error of a message whose frame is larger than its sender allows, or, `of its receiver`, that. */
function tooLarge(size: number, maxFrameBytes: number, whose: "" | " of its receiver" = ""): RpcError {
  const text = `a message makes a frame of ${size} bytes, and limits.maxFrameBytes${whose} is ${maxFrameBytes}`;
  const hint = "send it in parts, as a stream, or raise limits.maxFrameBytes on both sides";
  return new RpcError("resource_exhausted", text, { hint });
}

/** Makes the error of a call with a frame that is larger than this side accepts, or has memory for. */
export function oversized({ size }: Frame, { maxFrameBytes, maxSessionBytes }: ClientLimits): RpcError {
  if (size > maxFrameBytes) return tooLarge(size, maxFrameBytes, " of its receiver");
  const text = `the receiver has no memory for a frame of ${size} bytes: limits.maxSessionBytes is ${maxSessionBytes}`;
  return new RpcError("resource_exhausted", text);
}

/** A message from a measuring codec, with times from `performance.now()`. */
export class Received {
  readonly value: unknown;
  readonly arrived: number;
  readonly decoded: number;

  constructor(value: unknown, arrived: number, decoded: number) {
    this.value = value;
    this.arrived = arrived;
    this.decoded = decoded;
  }
}
