import type { MessageCodec } from "../contract/descriptor.js";
import type { Cursor } from "../wire/cursor.js";
import type { FrameWriter } from "../wire/writer.js";

/** Appends the payload of `value`; a method without a message there has no payload. */
export function encodePayload(codec: MessageCodec<unknown> | undefined, value: unknown, out: FrameWriter): void {
  codec?.encode(value, out);
}

/** The value of the payload at the cursor; undefined where the method has no message there, whatever was sent. */
export function decodePayload(codec: MessageCodec<unknown> | undefined, cursor: Cursor): unknown {
  return codec?.decode(cursor.bytes, cursor.position, cursor.end);
}
