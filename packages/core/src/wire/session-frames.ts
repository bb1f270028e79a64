import { ProtocolError } from "../errors.js";
import { Cursor } from "./cursor.js";
import type { Frame } from "./frame.js";

/** Bytes that a ping may carry. */
const MAX_PING_BYTES = 8;

/** The stage of a goaway frame: stage (varint). */
export function readGoaway({ bytes, start, end }: Frame): number {
  return new Cursor(bytes, start, end).varint();
}

/** The bytes of a ping, or of the pong that answers it. */
export function readPing({ bytes, start, end }: Frame): Uint8Array {
  if (end - start > MAX_PING_BYTES) throw new ProtocolError(`a ping carries more than ${MAX_PING_BYTES} bytes`);
  return bytes.subarray(start, end);
}
