import { codeFromNumber } from "../codes.js";
import type { Code } from "../errors.js";

/**
 * Application error codes of RESET_STREAM and STOP_SENDING (docs/protocol.md §6): a status code's number (1 to 16), or
 * one of these.
 */
// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** The peer broke the protocol on this stream. */
export const ProtocolError = 0x20;
/** The stream's kind is unknown here. */
export const UnknownKind = 0x21;
/** More streams of calls than this side allows. */
export const TooManyStreams = 0x22;

/** Describes a reset by the peer to the calls on the stream; `refused` when the peer never read them. */
export function describeReset(code: number): { code: Code; message: string; refused?: boolean } {
  switch (code) {
    case ProtocolError:
      return { code: "internal", message: "the peer found a protocol error" };
    case UnknownKind:
      return { code: "unimplemented", message: "the peer does not know this kind of stream", refused: true };
    case TooManyStreams:
      return {
        code: "resource_exhausted",
        message: "the peer takes no more streams (maxStreams, maxSessionBytes)",
        refused: true,
      };
    default:
      return { code: codeFromNumber(code), message: `the peer reset the stream (code ${code})` };
  }
}
