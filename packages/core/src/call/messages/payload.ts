import type { AnyMethod, MessageCodec } from "../../contract/descriptor.js";
import type { MemoryBudget } from "../../memory-budget.js";
import type { SessionCompression } from "../../transport/compression.js";
import type { Channel } from "../../transport/channel.js";
import { expand } from "../../transport/expand.js";
import { FLAG_COMPRESSED, FLAG_HEAD, type Frame } from "../../wire/frame.js";
import { type HeadFields, writeHead } from "../../wire/head.js";
import { FrameWriter } from "../../wire/writer.js";
import { decodeWithin } from "../../msgpack/decode-within.js";
import type { SessionFormat } from "./session-format.js";
import { RpcError } from "../../errors.js";
import type { ClientLimits } from "../../client-limits.js";

/** Returns true if the caller of a method sends a stream. */
export function streamsInput({ kind }: Pick<AnyMethod, "kind">): boolean {
  return kind === "client_stream" || kind === "duplex";
}

/** Returns true if the callee of a method sends a stream. */
export function streamsOutput({ kind }: Pick<AnyMethod, "kind">): boolean {
  return kind === "server_stream" || kind === "duplex";
}

export interface PayloadTarget {
  readonly out: FrameWriter;
  readonly compression: SessionCompression | undefined;
}

/**
 * Returns the codec of a message in the session's `format`; undefined means standard MessagePack, which is the format
 * of a method's own codec.
 */
export function codecIn(
  format: SessionFormat | undefined,
  codec: MessageCodec<unknown> | undefined,
): MessageCodec<unknown> | undefined {
  return format === undefined ? codec : format.of(codec);
}

/**
 * Encodes `value` and appends it to the frame that starts at `mark`. Appends nothing if `codec` is undefined, because
 * the method has no such message. Throws `RpcError` `resource_exhausted` if the frame exceeds `maxFrameBytes`.
 *
 * @param compress whether the caller or handler wants compression; undefined: depends on the length
 */
export function encodePayload(
  codec: MessageCodec<unknown> | undefined,
  value: unknown,
  { out, compression }: PayloadTarget,
  mark: number,
  maxFrameBytes: number,
  compress?: boolean,
): void {
  if (codec === undefined) return;
  const start = out.position;
  codec.encode(value, out);
  compression?.shrink(out, mark, start, compress);
  const size = out.sizeSince(mark);
  if (size > maxFrameBytes) throw tooLarge(size, maxFrameBytes);
}

/**
 * Sends one frame: the ids of `method` and `head`, if they are defined, then the payload of `value`. If `end` is true,
 * ends the stream after it (FIN). Returns the size of the frame in bytes. Throws if `value` cannot be encoded; nothing
 * is sent then.
 */
export function sendMessage(
  channel: Channel,
  type: number,
  id: number,
  codec: MessageCodec<unknown> | undefined,
  value: unknown,
  end: boolean,
  head?: HeadFields,
  compress?: boolean,
  method?: AnyMethod,
): number {
  const { out } = channel;
  const start = channel.begin();
  const mark = out.begin(head === undefined ? type : type | FLAG_HEAD, id);
  let bytes: number;
  try {
    if (method !== undefined) out.methodId(method.service.id, method.id);
    if (head !== undefined) writeHead(out, head);
    encodePayload(codec, value, channel, mark, channel.limits.maxFrameBytes, compress);
    bytes = out.commit(mark);
  } catch (error) {
    out.abandon(start);
    throw error;
  }
  channel.committed(end);
  return bytes;
}

/** Sends a frame without a payload: only with `head`, if it is defined. If `end` is true, ends the stream after it (FIN). */
export function sendHead(channel: Channel, type: number, id: number, head: HeadFields | undefined, end: boolean): void {
  sendMessage(channel, type, id, undefined, undefined, end, head);
}

/**
 * Decodes the payload at `position` of a frame. Returns undefined if `codec` is undefined, because the method has no
 * such message. Throws `RpcError` `resource_exhausted` if the message exceeds the memory budget. Sets
 * `budget.decodedBytes` to its estimated size in memory.
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

/** Returns the size in bytes of the encoded `value`, without sending it. Throws in the same way as `encodePayload`. */
export function payloadSize(codec: MessageCodec<unknown> | undefined, value: unknown, maxFrameBytes: number): number {
  if (codec === undefined) return 0;
  // A separate writer, because the encoder runs user code, which may call this function again.
  const out = new FrameWriter(1024);
  encodePayload(codec, value, { out, compression: undefined }, 0, maxFrameBytes);
  return out.position;
}

function tooLarge(size: number, maxFrameBytes: number, owner: "" | " of its receiver" = ""): RpcError {
  const text = `a message makes a frame of ${size} bytes, and limits.maxFrameBytes${owner} is ${maxFrameBytes}`;
  const hint = "send it in parts, as a stream, or raise limits.maxFrameBytes on both sides";
  return new RpcError("resource_exhausted", text, { hint });
}

export function oversized({ size }: Frame, { maxFrameBytes, maxSessionBytes }: ClientLimits): RpcError {
  if (size > maxFrameBytes) return tooLarge(size, maxFrameBytes, " of its receiver");
  const text = `the receiver has no memory for a frame of ${size} bytes: limits.maxSessionBytes is ${maxSessionBytes}`;
  return new RpcError("resource_exhausted", text);
}

/**
 * A decoded message with the times, from `performance.now()`, at which it arrived and was decoded. Created by the
 * codecs of `callTimings`.
 */
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
