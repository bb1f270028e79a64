import { codeFromNumber, codeNumber } from "../codes.js";
import { type Code, RpcError, untracedError } from "../errors.js";
import type { CloseInfo } from "./session.js";

/**
 * Codes with which this library closes a session, in addition to 0 and the error codes of streams (docs/protocol.md
 * §7).
 */
export const SessionCode = {
  /** The session was closed because the drain deadline had passed. */
  DrainTimeout: 0x40,
  /**
   * The session was refused before a handler saw any of its calls. The code is this number plus that of a status code.
   */
  Refused: 0x100,
} as const;

/** Returns the code for closing a session that is refused with a status code. */
export function refusalCode(code: Code): number {
  return SessionCode.Refused + codeNumber(code);
}

/** Returns the error with which the calls in progress fail when a session closes; undefined for code 0. */
export function closeError({ closeCode = 0, reason = "" }: CloseInfo): Error | undefined {
  if (closeCode === 0) return undefined;
  const message = `the session was closed with code ${closeCode}${reason === "" ? "" : `: ${reason}`}`;
  return Object.assign(new Error(message), { closeCode, reason });
}

const endsOfSessions = new WeakSet<RpcError>();

/**
 * Returns true if a call failed because its session ended or is draining, not because the peer answered it with an
 * error.
 */
export function isEndOfSession(error: RpcError): boolean {
  return endsOfSessions.has(error);
}

export function noteEndOfSession(error: RpcError): RpcError {
  endsOfSessions.add(error);
  return error;
}

/** Returns the error for a call on a session that accepts no more calls. `why` is part of its message. */
export function turnedAway(why: string): RpcError {
  return noteEndOfSession(new RpcError("unavailable", why, { refused: true }));
}

/** Returns the error for a call that the application makes after the session has ended. */
export function neverSent(lost: RpcError | undefined): RpcError {
  const { code, message } = lost ?? describeLoss(undefined);
  const hint = "make calls before the session ends, or by a connection, which makes another session";
  return noteEndOfSession(new RpcError(code, message, { refused: true, cause: lost, hint }));
}

/** Returns the error for a call in progress whose session has ended. `error` is the transport's explanation. */
export function lostCall(error: Error | undefined): RpcError {
  return noteEndOfSession(describeLoss(error));
}

/**
 * Error code of streams that a client opened before its TLS handshake was complete (early data) and that the server
 * rejected.
 */
const EARLY_DATA_REJECTED = "ERR_QUIC_EARLY_DATA_REJECTED";
/** Error code of a session that began before its TLS handshake was complete and that the server then refused. */
const CONNECTION_REFUSED = "ERR_QUIC_REFUSED";
/** Error code of a session that ended without calls in progress, before calls that the client made later were sent. */
const LOST_WHILE_IDLE = "ERR_QUIC_LOST_WHILE_IDLE";

/**
 * Returns true if a call was sent as early data, before the TLS handshake was complete, and the server rejected it. The
 * call can be made again on the same session.
 */
export function isRejectedEarly({ cause }: RpcError): boolean {
  return cause instanceof Error && (cause as { code?: unknown }).code === EARLY_DATA_REJECTED;
}

/**
 * Returns the peer's refusal if the session ended with one, which means that no handler has seen its calls; undefined
 * otherwise.
 */
export function refusalOf(error: Error | undefined): RpcError | undefined {
  const { closeCode, reason } = (error ?? {}) as { closeCode?: unknown; reason?: unknown };
  const status = typeof closeCode === "number" ? closeCode - SessionCode.Refused : 0;
  if (status < 1 || status > 16) return undefined;
  return untracedError(codeFromNumber(status), String(reason), { refused: true, cause: error });
}

/** Returns true if a server refused the client's credentials, so that it would refuse them again. */
export function isDenied(error: Error): error is RpcError {
  return error instanceof RpcError && (error.code === "unauthenticated" || error.code === "permission_denied");
}

function describeLoss(error: Error | undefined): RpcError {
  if (error === undefined) return untracedError("unavailable", "the session was closed");
  const refused = refusalOf(error);
  if (refused !== undefined) return refused;
  const { code } = error as { code?: unknown };
  const refusal = { refused: true, cause: error };
  // The peer has processed none of the call's data (RFC 9001 §4.6.2, RFC 9000 §20.1).
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

/** The peer violated the protocol on this stream. */
export const ProtocolViolation = 0x20;
export const UnknownKind = 0x21;
export const TooManyStreams = 0x22;

/**
 * Returns the error with which the calls on a stream fail when the peer resets it. `refused` is true if the peer has
 * not read them.
 */
export function describeReset(code: number): { code: Code; message: string; refused?: boolean } {
  switch (code) {
    case ProtocolViolation:
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
