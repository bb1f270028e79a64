import * as FrameType from "./frame-type.js";
import { Cursor } from "./cursor.js";
import type { Frame } from "./frame.js";
import { readUtf8 } from "../msgpack/text.js";
import { encodeText, FrameWriter } from "./writer.js";

/** Maximum UTF-8 bytes of a close reason; a longer one is cut (W3C WebTransport §6.9). */
const MAX_REASON_BYTES = 1024;

/** Returns a complete close frame. Its body is: code (varint) | reason (UTF-8, the rest). */
export function closeFrame(code: number, reason: string): Uint8Array {
  const out = new FrameWriter(64);
  out.frame(FrameType.Close, 0, () => {
    out.varint(code);
    out.bytes(encodeText(reason, MAX_REASON_BYTES));
  });
  return out.written();
}

export function readClose({ bytes, start, end }: Frame): { closeCode: number; reason: string } {
  const cursor = new Cursor(bytes, start, end);
  const closeCode = cursor.varint();
  return { closeCode, reason: readUtf8(bytes, cursor.position, Math.min(end, cursor.position + MAX_REASON_BYTES)) };
}
