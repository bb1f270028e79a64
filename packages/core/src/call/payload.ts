import type { MessageCodec } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { Channel } from "../transport/channel.js";
import type { Cursor } from "../wire/cursor.js";
import { FLAG_HEAD } from "../wire/frame.js";
import { type HeadFields, writeHead } from "../wire/head.js";
import { FrameWriter } from "../wire/writer.js";

/**
 * Appends the payload of `value` to the frame begun at `mark`; a method without a message there has no payload. Throws
 * `RpcError` `resource_exhausted` when the frame is larger than the peer, by default, takes.
 */
export function encodePayload(
  codec: MessageCodec<unknown> | undefined,
  value: unknown,
  out: FrameWriter,
  mark: number,
  maxFrameBytes: number,
): void {
  codec?.encode(value, out);
  // With its length field in four bytes.
  const size = out.position - mark + 2;
  if (size > maxFrameBytes) {
    const text = `the message makes a frame of ${size} bytes, and limits.maxFrameBytes is ${maxFrameBytes}`;
    throw new RpcError("resource_exhausted", text);
  }
}

/** The value of the payload at the cursor; undefined where the method has no message there, whatever was sent. */
export function decodePayload(codec: MessageCodec<unknown> | undefined, cursor: Cursor): unknown {
  return codec?.decode(cursor.bytes, cursor.position, cursor.end);
}

/**
 * Sends one frame with `head`, if any, and the payload of `value`, and FIN after it with `end`. Returns the frame's bytes. When it throws,
 * nothing was sent.
 */
export function sendMessage(
  channel: Channel,
  type: number,
  id: number,
  codec: MessageCodec<unknown> | undefined,
  value: unknown,
  maxFrameBytes: number,
  end: boolean,
  head?: HeadFields,
): number {
  const mark = channel.begin(head === undefined ? type : type | FLAG_HEAD, id);
  try {
    if (head !== undefined) writeHead(channel.out, head);
    encodePayload(codec, value, channel.out, mark, maxFrameBytes);
  } catch (error) {
    channel.abandon(mark);
    throw error;
  }
  const bytes = channel.out.position - mark;
  channel.commit(mark, end);
  return bytes;
}

/** Bytes that the payload of `value` takes, for a message that is not sent yet. Throws as `encodePayload` does. */
export function payloadSize(codec: MessageCodec<unknown> | undefined, value: unknown, maxFrameBytes: number): number {
  if (codec === undefined) return 0;
  // A writer of its own: the encoder runs user code, which may measure another.
  const out = new FrameWriter(1024);
  encodePayload(codec, value, out, 0, maxFrameBytes);
  return out.position;
}

/** Sends a frame of nothing but `head`, if any, and FIN after it with `end`. */
export function sendHead(channel: Channel, type: number, id: number, head: HeadFields | undefined, end: boolean): void {
  const mark = channel.begin(head === undefined ? type : type | FLAG_HEAD, id);
  if (head !== undefined) writeHead(channel.out, head);
  channel.commit(mark, end);
}
