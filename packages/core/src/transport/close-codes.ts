import { codeFromNumber, codeNumber } from "../codes.js";
import { type Code, RpcError, untracedError } from "../errors.js";
import type { CloseInfo } from "./session.js";

/** Codes with which this library closes a session, in addition to 0 and the codes of streams (docs/protocol.md §7). */
export const SessionCode = {
  /** The drain deadline has passed. */
  DrainTimeout: 0x40,
  /** Plus the number of a status code: the session was refused, and no handler has seen a call of it. */
  Refused: 0x100,
} as const;

/** The code to close a session with that is refused with a status. */
export function refusalCode(code: Code): number {
  return SessionCode.Refused + codeNumber(code);
}

/** A session that is closed with another code than 0 fails the calls in progress with this. */
export function closeError({ closeCode = 0, reason = "" }: CloseInfo): Error | undefined {
  if (closeCode === 0) return undefined;
  const message = `the session was closed with code ${closeCode}${reason === "" ? "" : `: ${reason}`}`;
  return Object.assign(new Error(message), { closeCode, reason });
}

const endsOfSessions = new WeakSet<RpcError>();

/** Whether a call failed because its session has ended or goes away, rather than by the peer's answer to it. */
export function isEndOfSession(error: RpcError): boolean {
  return endsOfSessions.has(error);
}

/** Notes that a call failed because its session goes away. */
export function noteEndOfSession(error: RpcError): RpcError {
  endsOfSessions.add(error);
  return error;
}

/** Returns the error for a call on a session that accepts no more calls. */
export function turnedAway(why: string): RpcError {
  return noteEndOfSession(new RpcError("unavailable", why, { refused: true }));
}

/** The error of a call that is made on a session which has ended. */
export function neverSent(lost: RpcError | undefined): RpcError {
  const { code, message } = lost ?? describeLoss(undefined);
  const hint = "make calls before the session ends, or by a connection, which makes another session";
  return noteEndOfSession(new RpcError(code, message, { refused: true, cause: lost, hint }));
}

/** The error of a call whose session ended, with the transport's own explanation. */
export function lostCall(error: Error | undefined): RpcError {
  return noteEndOfSession(describeLoss(error));
}

/** Error code of streams that a client opened before its handshake was complete and that the server rejected. */
const EARLY_DATA_REJECTED = "ERR_QUIC_EARLY_DATA_REJECTED";
/** Error code of a session that began before its handshake was complete and that the server then refused. */
const CONNECTION_REFUSED = "ERR_QUIC_REFUSED";
/** Error code of a session that had ended before the client sent its calls: no call was in progress before. */
const LOST_WHILE_IDLE = "ERR_QUIC_LOST_WHILE_IDLE";

/** Whether a call left before the session's handshake, and the server did not take it: on the same session it can be made again. */
export function isRejectedEarly({ cause }: RpcError): boolean {
  return cause instanceof Error && (cause as { code?: unknown }).code === EARLY_DATA_REJECTED;
}

/** The peer's refusal, if the session ended with one: no handler has seen any of its calls. */
export function refusalOf(error: Error | undefined): RpcError | undefined {
  const { closeCode, reason } = (error ?? {}) as { closeCode?: unknown; reason?: unknown };
  const status = typeof closeCode === "number" ? closeCode - SessionCode.Refused : 0;
  if (status < 1 || status > 16) return undefined;
  return untracedError(codeFromNumber(status), String(reason), { refused: true, cause: error });
}

/** Returns true if a server refused the client's credentials: they would be refused again. */
export function isDenied(error: Error): error is RpcError {
  return error instanceof RpcError && (error.code === "unauthenticated" || error.code === "permission_denied");
}

function describeLoss(error: Error | undefined): RpcError {
  if (error === undefined) return untracedError("unavailable", "the session was closed");
  const refused = refusalOf(error);
  if (refused !== undefined) return refused;
  const { code } = error as { code?: unknown };
  const refusal = { refused: true, cause: error };
  // Nothing of it was processed (RFC 9001 §4.6.2, RFC 9000 §20.1).
  if (code === EARLY_DATA_REJECTED || code === CONNECTION_REFUSED || code === LOST_WHILE_IDLE)
    return untracedError("unavailable", error.message, refusal);
  const hint = "it may have run: make it again if idempotent, or by its onceKey";
  return untracedError("unavailable", `the session was lost: ${error.message}`, { cause: error, hint });
}

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
