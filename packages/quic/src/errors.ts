import type { QuicErrorCode } from "./error-codes.js";
import type { SocketAddress } from "./session-handler.js";

/** Part of the system in which an error arose. */
export type QuicErrorSource = "session" | "stream" | "tls" | "system" | "usage";

/** Error code of the operating system or the DNS resolver, such as "EADDRINUSE". */
export type SystemCode = string & Record<never, never>;

/** Fields for the constructor of `QuicError`. */
export interface QuicErrorInit {
  source: QuicErrorSource;
  code: QuicErrorCode | SystemCode;
  message: string;
  streamErrorCode?: number | undefined;
  closeCode?: number | undefined;
  reason?: string | undefined;
  status?: number | undefined;
  remoteAddress?: SocketAddress | undefined;
  cause?: unknown;
}

/**
 * Base class of all errors of this package. `code` is stable: a code of the system (`EADDRINUSE`), or one of the codes
 * in docs/error-codes.md.
 */
export class QuicError extends Error {
  override readonly name: string = "QuicError";
  readonly source: QuicErrorSource;
  readonly code: QuicErrorCode | SystemCode;
  /** Application error code of RESET_STREAM or STOP_SENDING, 0 to 2^32-1. Null for all other errors. */
  readonly streamErrorCode: number | null;
  /** Application error code with which the session was closed (CONNECTION_CLOSE). Undefined if there was none. */
  readonly closeCode?: number;
  /** Text that the closing side sent together with `closeCode`. */
  readonly reason?: string;
  /** HTTP status with which the server refused a WebTransport session. */
  readonly status?: number;
  /** Address of the client whose handshake failed. Only set on errors passed to `onHandshakeError`. */
  readonly remoteAddress?: SocketAddress;

  constructor(init: QuicErrorInit) {
    super(init.message, init.cause === undefined ? undefined : { cause: init.cause });
    this.source = init.source;
    this.code = init.code;
    this.streamErrorCode = init.streamErrorCode ?? null;
    if (init.closeCode !== undefined) this.closeCode = init.closeCode;
    if (init.reason !== undefined) this.reason = init.reason;
    if (init.status !== undefined) this.status = init.status;
    if (init.remoteAddress !== undefined) this.remoteAddress = init.remoteAddress;
  }
}

/**
 * Creates an error without a stack trace. Used for the error at the end of each session: a trace is expensive and would
 * contain only lines of this package.
 */
export function untraced(make: () => QuicError): QuicError {
  const { stackTraceLimit } = Error as { stackTraceLimit?: unknown };
  // Does nothing where `Error` is frozen.
  Reflect.set(Error, "stackTraceLimit", 0);
  const error = make();
  Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  return error;
}

/** Options for the constructor of `WebTransportError` (W3C WebTransport §11). */
export interface WebTransportErrorOptions {
  /** Whether the stream or its session has failed. Default "stream". */
  source?: "stream" | "session";
  /** Application error code, 0 to 2^32-1, or null for none. Default null. */
  streamErrorCode?: number | null;
}

type WebTransportErrorInit = WebTransportErrorOptions & Partial<Omit<QuicErrorInit, keyof WebTransportErrorOptions>>;

/**
 * Error of a stream or session (W3C WebTransport §11). Pass one to `abort` of a writable or `cancel` of a readable
 * stream to choose the error code that the peer receives.
 */
export class WebTransportError extends QuicError {
  override readonly name: string = "WebTransportError";

  constructor(message = "", options: WebTransportErrorInit = {}) {
    const { source = "stream", streamErrorCode = null, code = "ERR_WEBTRANSPORT" } = options;
    super({ ...options, source, code, message, streamErrorCode: streamErrorCode ?? undefined });
  }
}

export function invalidOption(message: string): QuicError {
  return new QuicError({ source: "usage", code: "ERR_QUIC_INVALID_OPTION", message });
}

/** Creates the error for RESET_STREAM: the peer reset its sending side (RFC 9000 §19.4). */
export function resetError(code: number): WebTransportError {
  const message = `the peer reset the stream with code ${code}`;
  return new WebTransportError(message, { code: "ERR_QUIC_RESET", streamErrorCode: code });
}

/** Creates the error for STOP_SENDING: the peer asked this side to stop sending (RFC 9000 §19.5). */
export function stopSendingError(code: number): WebTransportError {
  const message = `the peer stopped reading the stream with code ${code}`;
  return new WebTransportError(message, { code: "ERR_QUIC_STOP_SENDING", streamErrorCode: code });
}

/**
 * Throws an exception asynchronously, so that it becomes an `uncaughtException` like an exception of an event listener.
 */
export function reportException(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
