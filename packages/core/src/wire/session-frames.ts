import { ProtocolError } from "../errors.js";
import { cursorOf } from "./cursor.js";
import type { Frame } from "./frame.js";

/** Maximum bytes of data in a ping. */
const MAX_PING_BYTES = 8;

/** Reads the stage of a goaway frame (varint). */
export function readGoaway(frame: Frame): number {
  return cursorOf(frame).varint();
}

/** Returns the data of a ping, or of the pong that answers it. */
export function readPing({ bytes, start, end }: Frame): Uint8Array {
  if (end - start > MAX_PING_BYTES) throw new ProtocolError(`a ping carries more than ${MAX_PING_BYTES} bytes`);
  return bytes.subarray(start, end);
}
