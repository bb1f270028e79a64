import type { MessageCodec } from "../../contract/descriptor.js";
import type { Channel } from "../../transport/channel.js";
import { FLAG_HEAD } from "../../wire/frame.js";
import { type HeadFields, writeHead } from "../../wire/head.js";
import { encodePayload } from "./payload.js";

/**
 * Sends one frame with `head`, if there is one, and the payload of `value`; with `end`, FIN follows. Returns the
 * frame's bytes. If it throws, nothing was sent.
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

/** Sends a frame with only `head`, if there is one; with `end`, FIN follows. */
export function sendHead(channel: Channel, type: number, id: number, head: HeadFields | undefined, end: boolean): void {
  sendMessage(channel, type, id, undefined, undefined, Number.POSITIVE_INFINITY, end, head, false);
}
