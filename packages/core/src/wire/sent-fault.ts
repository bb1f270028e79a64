import { codeNumber } from "../codes.js";
import type { Code } from "../errors.js";
import { type ByteWriter, encodeText } from "./writer.js";
import { type HeadFields, writeHead } from "./head.js";

/** Maximum bytes of an error frame's fields other than metadata, message and details. */
const MAX_FRAMING = 512;

export interface FaultLimits {
  readonly maxErrorMessageBytes: number;
  readonly maxFrameBytes: number;
}

export interface SentFault {
  readonly code: Code;
  readonly message: string;
  readonly head: HeadFields | undefined;
  /** Details of the error, encoded as MessagePack. */
  readonly details: Uint8Array | undefined;
}

/**
 * Appends the body of an error frame: [head] | code (1 byte) | message length (varint) | message (UTF-8) | details
 * (msgpack, may be absent). Omits details that are too large for the frame. Returns the position of the code.
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
