import * as ResetCode from "./reset-code.js";
import { codeNumber } from "../codes.js";

/** Returns the reason for closing a session over a byte stream, where a session with streams would reset one of them. */
export function closeReason(code: number): string {
  if (code === ResetCode.ProtocolError) return "protocol error";
  if (code === ResetCode.UnknownKind) return "the peer does not speak quicrpc";
  return code === codeNumber("resource_exhausted") ? "the peer does not read" : "";
}
