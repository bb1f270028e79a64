import { Cursor, cursorOf } from "./cursor.js";
import type { Frame } from "./frame.js";
import { MAX_REASON_BYTES, type MisfitNotice } from "./misfit-notice.js";

/** A received request or notification. Its payload is the unread rest of the cursor. */
export interface IncomingRequest {
  readonly serviceId: number;
  readonly methodId: number;
  readonly cursor: Cursor;
}

export function readRequest(frame: Frame): IncomingRequest {
  const cursor = cursorOf(frame);
  const at = cursor.take(2);
  const serviceId = ((frame.bytes[at] as number) << 8) | (frame.bytes[at + 1] as number);
  return { serviceId, methodId: cursor.varint(), cursor };
}

/**
 * Reads a schema mismatch notice after its method id, 0. Cuts a reason that is too long. Throws `ProtocolError` if the
 * frame ends too early.
 */
export function readMisfitNotice(cursor: Cursor): MisfitNotice {
  const methodId = cursor.varint();
  const { bytes, position, end } = cursor;
  return { methodId, reason: new Cursor(bytes, position, Math.min(end, position + MAX_REASON_BYTES)).text() };
}
