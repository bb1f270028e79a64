import type { Code } from "./codes.js";
import { Metadata, type MetadataInit } from "./metadata.js";

export type { Code };

/** Marks errors; a registered symbol, so that errors of all copies of this module are recognized. */
const RPC_ERROR: symbol = Symbol.for("quicrpc.RpcError");

export interface RpcErrorOptions {
  /** The error's name in the method's schema, which `rpcError` sets. It is sent only if the method declares it. Default: none. */
  readonly reason?: string | undefined;
  /** Any value that the codec can encode. It is sent to the peer. Default: none. */
  readonly details?: unknown;
  /** Trailers that are sent to the peer. Default: none. */
  readonly metadata?: MetadataInit | undefined;
  /** The call reached no handler. Only the runtime can tell a peer so. Default false. */
  readonly refused?: boolean | undefined;
  /** The error that caused this one. It is not sent to the peer. Default: none. */
  readonly cause?: unknown;
  /** A sentence that says what can be done. It is not sent to the peer. Default: none. */
  readonly hint?: string | undefined;
}

/**
 * The error class of all calls. A handler throws it to choose the code, message and details that the caller receives.
 * Every failure of a call, local or remote, is an `RpcError`.
 *
 * @example
 * throw new RpcError("not_found", "there is no such note"); // in a handler
 */
export class RpcError extends Error {
  override readonly name = "RpcError";
  /** The error that caused this one, on this side. Declared here for programs whose `lib` is older than ES2022. */
  declare cause?: unknown;
  /** The reason why the call failed: one of a closed set of codes. */
  readonly code: Code;
  /**
   * The details that the handler gave; undefined if it gave none. Those of a declared error are typed by the method's
   * schema: see `isRpcErrorOf`.
   */
  readonly details: unknown;
  /** The error's name in the method's schema, if it is declared there and its details match: see `isRpcErrorOf`. */
  readonly reason: string | undefined;
  /** The trailers of the call, if the error came from the peer. */
  readonly metadata: Metadata;
  /** True if the call reached no handler. Repeating it is then always safe. */
  readonly refused: boolean;
  /**
   * True if a call that this side made failed with this error. If a handler throws such an error, it is not passed on:
   * the handler's caller receives `unavailable` or `internal`, and `onError` receives the error. See `forward`.
   */
  readonly fromCall: boolean = false;
  /** The method whose call failed, as "service/method". Set on every error of a call that this side made. */
  declare readonly method?: string;
  /** The URL or address of that call's peer, if known. */
  declare readonly peer?: string;
  /** A sentence that says what can be done. */
  declare readonly hint?: string;

  constructor(code: Code, message: string, options: RpcErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.reason = options.reason;
    this.metadata = Metadata.from(options.metadata);
    this.refused = options.refused ?? false;
    if (options.hint !== undefined) this.hint = options.hint;
  }

  /** Returns true if `value` is an `RpcError` whose fields can be read and have the right types. Never throws. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    try {
      if (this !== RpcError) return Function.prototype[Symbol.hasInstance].call(this, value);
      if (!(RPC_ERROR in Object(value))) return false;
      const { code: _, reason: _reason, details: _details, message, metadata } = value as RpcError;
      return typeof message === "string" && metadata.get !== undefined;
    } catch {
      return false;
    }
  }

  /**
   * Returns an error with which a handler can pass on the failure of its own call: `throw RpcError.forward(error)`
   * sends the code, message, reason, details and metadata to the handler's caller. `refused` is not passed on, because
   * this handler did run.
   */
  static forward(error: RpcError): RpcError {
    const { code, message, reason, details, metadata } = error;
    const forwarded = new RpcError(code, message, { reason, details, metadata, cause: error });
    origins.set(forwarded, error);
    return forwarded;
  }

  /**
   * Converts any thrown value to an `RpcError`: an `RpcError` is returned as it is, an abort becomes `cancelled`, the
   * abort of a timeout `deadline_exceeded`, and anything else becomes an error with `code`, whose cause is the value.
   */
  static from(value: unknown, code: Code = "unknown"): RpcError {
    if (value instanceof RpcError) return value;
    const { name, message } = asError(value);
    if (name === "AbortError") return new RpcError("cancelled", "the call was cancelled", { cause: value });
    return new RpcError(name === "TimeoutError" ? "deadline_exceeded" : code, message, { cause: value });
  }
}

/** Original errors of forwarded ones. `cause` is not enough, because it is optional. */
const origins: WeakMap<RpcError, RpcError> = new WeakMap();

/** Returns the original of an error that `RpcError.forward` made; undefined for other errors. */
export function forwardedFrom(error: RpcError): RpcError | undefined {
  return origins.get(error);
}

Object.defineProperty(RpcError.prototype, RPC_ERROR, { value: true });

/**
 * Creates the error of a call that a timer or a frame ends. It captures no stack, which would be the most expensive
 * part of ending the call and would contain no line of the application. Awaiting the call adds the application's lines.
 */
export function untracedError(
  code: Code,
  message: string,
  options?: RpcErrorOptions & { readonly metadata?: Metadata },
): RpcError {
  const { stackTraceLimit } = Error as { stackTraceLimit?: unknown };
  // Has no effect if `Error` is frozen.
  Reflect.set(Error, "stackTraceLimit", 0);
  const error = new RpcError(code, message, options);
  Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  return error;
}

/** Records the method, and if known the peer, of the call of this side that failed with the error. Values that are already set are kept. */
export function callFailure(error: RpcError, method: string, peer?: string): RpcError {
  const writable = error as { -readonly [Name in "fromCall" | "method" | "peer"]: RpcError[Name] };
  writable.fromCall = true;
  writable.method ??= method;
  if (peer !== undefined) writable.peer ??= peer;
  return error;
}

export function hintOf(error: unknown): string | undefined {
  const { hint } = (error ?? {}) as { readonly hint?: unknown };
  return typeof hint === "string" ? hint : undefined;
}

/** The peer violated the protocol. The stream on which this happened is aborted. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

/** Converts any thrown value to an `Error` whose name, message and cause can be read. Never throws. */
export function asError(value: unknown): Error {
  try {
    const error = value instanceof Error ? value : new Error(String(value));
    const { name: _, message, cause: _cause } = error;
    if (typeof message === "string") return error;
  } catch {
    // A revoked proxy, or a getter that throws.
  }
  return new Error("unreadable error");
}

/** Errors that are not complete yet, with the promise that completes them. */
const incomplete: WeakMap<Error, Promise<unknown>> = new WeakMap();

/** Delays `error` until `explanation`, which completes it, has resolved. `explanation` must not reject. */
export function explainLater(error: Error, explanation: Promise<unknown>): void {
  incomplete.set(error, explanation);
}

/** Returns a promise that resolves when `error` is complete; undefined if it is complete already. */
export function whenExplained(error: Error): Promise<unknown> | undefined {
  return incomplete.get(error);
}
