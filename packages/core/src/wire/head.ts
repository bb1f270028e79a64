import { RpcError } from "../errors.js";
import { Cursor } from "./cursor.js";
import type { FrameWriter } from "./writer.js";
import { varintLength, writeVarint } from "./varint.js";

/**
 * What goes with a message beside its payload (docs/protocol.md §4):
 *
 *     head length (varint) | fields: key (varint) | value length (varint) | value
 *
 * A receiver passes over an unknown field with an odd key, and refuses the call for one with an even key.
 */
export interface Head {
  /** Milliseconds the caller will still wait, as the request leaves. */
  timeoutMs: number | undefined;
}

const Field = {
  /** milliseconds (varint) */
  Timeout: 0x1,
} as const;

/** Writes the head of a request that has a timeout. */
export function writeHead(out: FrameWriter, timeoutMs: number): void {
  const valueLength = varintLength(timeoutMs);
  const headLength = 2 + valueLength;
  out.reserve(1 + headLength);
  let position = writeVarint(out.buffer, out.position, headLength);
  position = writeVarint(out.buffer, position, Field.Timeout);
  position = writeVarint(out.buffer, position, valueLength);
  out.position = writeVarint(out.buffer, position, timeoutMs);
}

/** Reads a head and leaves the cursor at the payload. Throws `RpcError` `unimplemented` for a field it may not ignore. */
export function readHead(cursor: Cursor): Head {
  const head: Head = { timeoutMs: undefined };
  const fields = nested(cursor, cursor.varint());
  while (fields.position < fields.end) {
    const key = fields.varint();
    const value = nested(fields, fields.varint());
    if (key === Field.Timeout) head.timeoutMs = value.varint();
    else if (key % 2 === 0) throw new RpcError("unimplemented", `head field ${key} is not understood here`);
  }
  return head;
}

/** A cursor over the next `length` bytes, which `cursor` passes over. */
function nested(cursor: Cursor, length: number): Cursor {
  const start = cursor.take(length);
  return new Cursor(cursor.bytes, start, start + length);
}
