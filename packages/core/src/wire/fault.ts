import { type Code, codeFromNumber, codeNumber, RpcError } from "../errors.js";
import type { ByteWriter } from "./writer.js";
import { Cursor } from "./cursor.js";
import { FLAG_COMPRESSED, type Frame } from "./frame.js";
import { type Head, type HeadFields, writeHead } from "./head.js";
import { pack } from "../msgpack/message.js";
import { readOptionalHead } from "./request.js";
import { encodeText } from "./text.js";

/** The fields of a frame and of an error beside the head's metadata, the message and the details. */
const MAX_FRAMING = 512;

/** The limits that an error is held to. */
export interface FaultLimits {
  readonly maxErrorMessageBytes: number;
  readonly maxFrameBytes: number;
}

/** An error as it is sent to the peer. */
export interface Fault {
  readonly code: Code;
  readonly message: string;
  readonly head: HeadFields | undefined;
  /** MessagePack. */
  readonly details: Uint8Array | undefined;
}

/** An error as it arrived. */
export interface ReceivedFault {
  readonly code: Code;
  readonly message: string;
  readonly head: Head | undefined;
  readonly details: Uint8Array | undefined;
}

/**
 * Appends the body of an error frame, its head included: [head] | code (1 byte) | message length (varint) | message
 * (UTF-8) | details (msgpack, may be absent). Details too large for the frame are left out. Returns where the code is.
 */
export function writeFault(out: ByteWriter, { code, message, head, details }: Fault, limits: FaultLimits): number {
  if (head !== undefined) writeHead(out, head);
  const start = out.position;
  out.byte(codeNumber(code));
  const text = encodeText(message, limits.maxErrorMessageBytes);
  out.varint(text.length);
  out.bytes(text);
  const metadataLength = (head?.metadata?.length ?? 0) + (head?.trailers?.length ?? 0);
  const room = limits.maxFrameBytes - MAX_FRAMING - metadataLength - text.length;
  if (details !== undefined && details.length <= room) out.bytes(details);
  return start;
}

/** Details as MessagePack; what cannot be carried must not cost the caller the error itself. May run user code (getters). */
export function packDetails(details: unknown): Uint8Array | undefined {
  if (details === undefined) return undefined;
  try {
    return pack(details);
  } catch {
    return undefined;
  }
}

/**
 * Reads an error frame; only what frames it must be right, since the error is better told in part than not at all.
 *
 * @param expand undoes compression
 */
export function readFault(
  frame: Frame,
  maxMetadataBytes: number,
  expand: (bytes: Uint8Array, start: number, end: number) => Uint8Array,
): ReceivedFault {
  const cursor = new Cursor(frame.bytes, frame.start, frame.end);
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

/** The head of an error frame, as far as it can be understood. */
function readFaultHead(frame: Frame, cursor: Cursor, maxMetadataBytes: number): Head | undefined {
  try {
    return readOptionalHead(frame, cursor, maxMetadataBytes);
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}

/** The code, the message and the details. */
function readFaultBody(cursor: Cursor, head: Head | undefined): ReceivedFault {
  const code = codeFromNumber(cursor.byte());
  const message = cursor.nested().text();
  return { code, message, head, details: cursor.position === cursor.end ? undefined : cursor.rest() };
}
