import { codeFromNumber } from "../codes.js";
import { type Code, RpcError } from "../errors.js";
import { Cursor, cursorOf } from "./cursor.js";
import { FLAG_COMPRESSED, FLAG_HEAD, type Frame } from "./frame.js";
import { type Head, readHead } from "./head.js";

export interface ReceivedFault {
  readonly code: Code;
  readonly message: string;
  readonly head: Head | undefined;
  readonly details: Uint8Array | undefined;
}

/**
 * Reads an error frame. Tolerates an invalid head or compressed body, because part of the error is more useful than a
 * failure to read it. Throws `ProtocolError` only if the frame's structure is invalid.
 *
 * @param expand decompresses `bytes[start, end)`
 */
export function readFault(
  frame: Frame,
  maxMetadataBytes: number,
  expand: (bytes: Uint8Array, start: number, end: number) => Uint8Array,
): ReceivedFault {
  const cursor = cursorOf(frame);
  const head = readFaultHead(frame, cursor, maxMetadataBytes);
  if ((frame.flags & FLAG_COMPRESSED) === 0) return readFaultBody(cursor, head);
  try {
    const body = expand(cursor.bytes, cursor.position, cursor.end);
    return readFaultBody(new Cursor(body, 0, body.length), head);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return { code: error.code, message: `the error cannot be read: ${error.message}`, head, details: undefined };
  }
}

/** Reads the head of an error frame. Returns undefined if the frame has none, or its content is invalid. */
function readFaultHead(frame: Frame, cursor: Cursor, maxMetadataBytes: number): Head | undefined {
  try {
    return (frame.flags & FLAG_HEAD) === 0 ? undefined : readHead(cursor, maxMetadataBytes);
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}

function readFaultBody(cursor: Cursor, head: Head | undefined): ReceivedFault {
  const code = codeFromNumber(cursor.byte());
  const message = cursor.nested().text();
  return { code, message, head, details: cursor.position === cursor.end ? undefined : cursor.rest() };
}
