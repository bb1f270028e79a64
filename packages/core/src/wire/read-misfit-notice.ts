import { Cursor } from "./cursor.js";
import { MAX_REASON_BYTES, type MisfitNotice } from "./misfit-notice.js";

/** Reads what follows the 0. A longer reason is cut. Throws `ProtocolError` when the frame ends too soon. */
export function readMisfitNotice(cursor: Cursor): MisfitNotice {
  const methodId = cursor.varint();
  const { bytes, position, end } = cursor;
  return { methodId, reason: new Cursor(bytes, position, Math.min(end, position + MAX_REASON_BYTES)).text() };
}
