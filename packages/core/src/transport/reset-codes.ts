import { codeFromNumber } from "../codes.js";
import type { Code } from "../errors.js";
import * as ResetCode from "./reset-code.js";

/** Describes a reset by the peer to the calls on the stream; `refused` when the peer never read them. */
export function describeReset(code: number): { code: Code; message: string; refused?: boolean } {
  switch (code) {
    case ResetCode.ProtocolError:
      return { code: "internal", message: "the peer found a protocol error" };
    case ResetCode.UnknownKind:
      return { code: "unimplemented", message: "the peer does not know this kind of stream", refused: true };
    case ResetCode.TooManyStreams:
      return {
        code: "resource_exhausted",
        message: "the peer takes no more streams (maxStreams, maxSessionBytes)",
        refused: true,
      };
    default:
      return { code: codeFromNumber(code), message: `the peer reset the stream (code ${code})` };
  }
}
