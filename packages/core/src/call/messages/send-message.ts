import type { MessageCodec } from "../../contract/descriptor.js";
import type { Channel } from "../../transport/channel.js";
import { FLAG_HEAD } from "../../wire/frame.js";
import { type HeadFields, writeHead } from "../../wire/head.js";
import { encodePayload } from "./payload.js";

/**
 * Sends one frame with the payload of `value`, preceded by `head` if it is defined. If `end` is true, ends the stream
 * after it (FIN). Returns the size of the frame in bytes. Throws if `value` cannot be encoded; nothing is sent then.
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
  compress?: boolean,
): number {
  const { out } = channel;
  const start = channel.begin();
  const mark = out.begin(head === undefined ? type : type | FLAG_HEAD, id);
  let bytes: number;
  try {
    if (head !== undefined) writeHead(out, head);
    encodePayload(codec, value, channel, mark, maxFrameBytes, compress);
    bytes = out.commit(mark);
  } catch (error) {
    out.abandon(start);
    throw error;
  }
  channel.committed(end);
  return bytes;
}

/**
 * Sends a frame without a payload: only with `head`, if it is defined. If `end` is true, ends the stream after it
 * (FIN).
 */
export function sendHead(channel: Channel, type: number, id: number, head: HeadFields | undefined, end: boolean): void {
  sendMessage(channel, type, id, undefined, undefined, Number.POSITIVE_INFINITY, end, head, false);
}
