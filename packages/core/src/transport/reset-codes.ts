import { type Code, codeFromNumber, codeNumber } from "../errors.js";
import * as ResetCode from "./reset-code.js";

/** What a reset by the peer means to the calls on the stream; `refused` when it never looked at them. */
export function describeReset(code: number): { code: Code; message: string; refused?: boolean } {
  switch (code) {
    case ResetCode.ProtocolError:
      return { code: "internal", message: "the peer found a protocol error" };
    case ResetCode.UnknownKind:
      return { code: "unimplemented", message: "the peer does not know this kind of stream", refused: true };
    case ResetCode.TooManyStreams:
      return { code: "resource_exhausted", message: "the peer has reached maxStreams", refused: true };
    default:
      return { code: codeFromNumber(code), message: `the peer reset the stream (code ${code})` };
  }
}

/** What is said when a byte stream's session is closed for what a stream would be reset for. */
export function closeReason(code: number): string {
  if (code === ResetCode.ProtocolError) return "protocol error";
  if (code === ResetCode.UnknownKind) return "the peer does not speak quicrpc";
  return code === codeNumber("resource_exhausted") ? "the peer does not read" : "";
}
