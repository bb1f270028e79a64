import { codeNumber } from "../codes.js";
import type { Code } from "../errors.js";
import { type ByteWriter, encodeText } from "./writer.js";
import { type HeadFields, writeHead } from "./head.js";

/** Maximum bytes of the fields of a frame and of an error, in addition to metadata, message and details. */
const MAX_FRAMING = 512;

/** The limits that an error is held to. */
export interface FaultLimits {
  readonly maxErrorMessageBytes: number;
  readonly maxFrameBytes: number;
}

/** An error as it is sent to the peer. */
export interface SentFault {
  readonly code: Code;
  readonly message: string;
  readonly head: HeadFields | undefined;
  /** MessagePack. */
  readonly details: Uint8Array | undefined;
}

/**
 * Appends the body of an error frame, its head included: [head] | code (1 byte) | message length (varint) | message
 * (UTF-8) | details (msgpack, may be absent). Leaves out details that are too large for the frame. Returns the position
 * of the code.
 */
export function writeFault(out: ByteWriter, { code, message, head, details }: SentFault, limits: FaultLimits): number {
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
