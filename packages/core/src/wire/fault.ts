import { codeFromNumber, codeNumber, RpcError } from "../errors.js";
import { Cursor } from "./cursor.js";
import type { Frame } from "./frame.js";
import { pack, unpack } from "./msgpack.js";
import { decodeText, encodeText } from "./text.js";
import type { FrameWriter } from "./writer.js";

/** The fields of a frame and of an error beside the message and the details. */
const MAX_FRAMING = 32;

/** The limits that an error is held to. */
export interface FaultLimits {
  readonly maxErrorMessageBytes: number;
  readonly maxFrameBytes: number;
}

/** The body of an error frame: code (1 byte) | message length (varint) | message (UTF-8) | details (msgpack, may be absent). */
export interface Fault {
  readonly code: number;
  readonly message: Uint8Array;
  readonly details: Uint8Array | undefined;
}

/** Encodes an error; details that cannot be carried, or are too large, are left out. May run user code (getters). */
export function encodeFault(error: RpcError, limits: FaultLimits): Fault {
  const message = encodeText(error.message, limits.maxErrorMessageBytes);
  const details = error.details === undefined ? undefined : packDetails(error.details);
  const room = limits.maxFrameBytes - MAX_FRAMING - message.length;
  const fits = details !== undefined && details.length <= room;
  return { code: codeNumber(error.code), message, details: fits ? details : undefined };
}

/** Appends the body of an error frame. */
export function writeFault(out: FrameWriter, { code, message, details }: Fault): void {
  out.byte(code);
  out.varint(message.length);
  out.bytes(message);
  if (details !== undefined) out.bytes(details);
}

/** Details that cannot be carried, or are too large, must not cost the caller the error itself. */
function packDetails(details: unknown): Uint8Array | undefined {
  try {
    return pack(details);
  } catch {
    return undefined;
  }
}

/** Reads an error frame. Details that cannot be read are left out. */
export function readFault(frame: Frame): RpcError {
  const cursor = new Cursor(frame.bytes, frame.start, frame.end);
  const code = codeFromNumber(cursor.byte());
  const length = cursor.varint();
  const start = cursor.take(length);
  const message = decodeText(frame.bytes, start, start + length);
  if (cursor.position === frame.end) return new RpcError(code, message);
  try {
    return new RpcError(code, message, { details: unpack(frame.bytes, cursor.position, frame.end) });
  } catch {
    return new RpcError(code, message);
  }
}
