import type { Code } from "./codes.js";
import { Metadata, type MetadataInit } from "./metadata.js";

export type { Code };

/** Marks errors across copies of this module, so that a handler's error is one whichever copy it was made by. */
const RPC_ERROR: symbol = Symbol.for("quicrpc.RpcError");

/** Fields of an `RpcError` beside its code and message. */
export interface RpcErrorOptions {
  /** The error's name in the method's schema; `rpcError` sets it. Sent only where the method declares it. Default: none. */
  readonly reason?: string | undefined;
  /** Anything the codec can carry; it reaches the peer. Default: none. */
  readonly details?: unknown;
  /** Reaches the peer as trailers. Default: none. */
  readonly metadata?: MetadataInit | undefined;
  /** No handler was entered. Only the runtime says so to a peer. Default false. */
  readonly refused?: boolean | undefined;
  /** The error that led to this one. It is not sent to the peer. Default: none. */
  readonly cause?: unknown;
  /** A sentence about what can be done. It is not sent to the peer. Default: none. */
  readonly hint?: string | undefined;
}

/**
 * The one error of calls. A handler throws it to choose the code, message and details that the caller sees; every
 * failure of a call, local or remote, is one.
 *
 * @example
 * throw new RpcError("not_found", "there is no such note"); // in a handler
 */
export class RpcError extends Error {
  override readonly name = "RpcError";
  /** The error that led to this one, on this side. Programs whose `lib` is older than ES2022 see it too. */
  declare cause?: unknown;
  /** Why the call failed, as one of a closed set. */
  readonly code: Code;
  /** Details that the handler gave: those of a declared error are typed by the method's schema, see `isRpcErrorOf`. Undefined where it gave none. */
  readonly details: unknown;
  /** The error's name in the method's schema, where it has one and the details fit it; see `isRpcErrorOf`. */
  readonly reason: string | undefined;
  /** The call's trailers, where the error came from the peer. */
  readonly metadata: Metadata;
  /** The call never reached a handler: to make it again is safe, whatever it does. */
  readonly refused: boolean;
  /**
   * A call that this side made failed with it. A handler that lets it escape does not pass it on: its own caller gets
   * `unavailable` or `internal`, and `onError` the error; see `forward`.
   */
  readonly fromCall: boolean = false;
  /** The method whose call failed with it, as "service/method"; every error of a call that this side made has one. */
  declare readonly method?: string;
  /** The peer of that call, by its URL or address, as far as it is known. */
  declare readonly peer?: string;
  /** A sentence about what can be done. */
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

  /** Whether `value` is an `RpcError` whose fields can be read and have the right types. Never throws, whatever `value` is. */
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
   * Makes an error that a handler's own call failed with fit for the handler's caller: `throw RpcError.forward(error)` passes on its
   * code, message, reason, details and metadata. `refused` is not passed on, since this handler did run.
   */
  static forward(error: RpcError): RpcError {
    const { code, message, reason, details, metadata } = error;
    const forwarded = new RpcError(code, message, { reason, details, metadata, cause: error });
    origins.set(forwarded, error);
    return forwarded;
  }

  /**
   * Any thrown value as an `RpcError`: itself if it is one, an abort as `cancelled`, a timeout's abort as
   * `deadline_exceeded`, anything else as `code` with the value as the cause.
   */
  static from(value: unknown, code: Code = "unknown"): RpcError {
    if (value instanceof RpcError) return value;
    const { name, message } = asError(value);
    if (name === "AbortError") return new RpcError("cancelled", "the call was cancelled", { cause: value });
    return new RpcError(name === "TimeoutError" ? "deadline_exceeded" : code, message, { cause: value });
  }
}

/** The errors that others were forwarded from: the cause of an error says less, since it need not be passed on. */
const origins: WeakMap<RpcError, RpcError> = new WeakMap();

/** Returns the error that `RpcError.forward` has made this one of; undefined for any other. */
export function forwardedFrom(error: RpcError): RpcError | undefined {
  return origins.get(error);
}

Object.defineProperty(RpcError.prototype, RPC_ERROR, { value: true });

/**
 * Makes the error of a call that a timer or a frame ends. It has no trace of its own, which would cost more than all else of the
 * call's end and show none of the application's lines; those who wait for the call add theirs.
 */
export function untracedError(
  code: Code,
  message: string,
  options?: RpcErrorOptions & { readonly metadata?: Metadata },
): RpcError {
  const { stackTraceLimit } = Error as { stackTraceLimit?: unknown };
  // Does nothing where `Error` is frozen.
  Reflect.set(Error, "stackTraceLimit", 0);
  const error = new RpcError(code, message, options);
  Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  return error;
}

/** Notes that a call of this side failed with the error: of which method, and at which peer. What it says already stays. */
export function callFailure(error: RpcError, method: string, peer?: string): RpcError {
  const noted = error as { -readonly [Name in "fromCall" | "method" | "peer"]: RpcError[Name] };
  noted.fromCall = true;
  noted.method ??= method;
  if (peer !== undefined) noted.peer ??= peer;
  return error;
}

/** The hint of an error of this library. */
export function hintOf(error: unknown): string | undefined {
  const { hint } = (error ?? {}) as { readonly hint?: unknown };
  return typeof hint === "string" ? hint : undefined;
}

/** A peer broke the protocol: the stream it happened on is aborted. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

/** Any thrown value as an `Error` whose name, message and cause can be read. Never throws, whatever `value` is. */
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
