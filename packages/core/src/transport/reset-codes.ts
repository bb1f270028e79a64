import { type Code, codeFromNumber, codeNumber } from "../errors.js";

/**
 * Application error codes of RESET_STREAM and STOP_SENDING (docs/protocol.md §6): a status code's number (1 to 16), or
 * one of these.
 */
export const ResetCode = {
  /** The peer broke the protocol on this stream. */
  ProtocolError: 0x20,
  /** The stream's kind is unknown here. */
  UnknownKind: 0x21,
  /** More streams of calls than this side allows. */
  TooManyStreams: 0x22,
} as const;

/** What a reset by the peer means to the calls on the stream; `refused` when it never looked at them. */
export function describeReset(code: number): { code: Code; message: string; refused?: boolean } {
  switch (code) {
    case ResetCode.ProtocolError:
      return { code: "internal", message: "the peer gave the stream up: it found a protocol error" };
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
