import type { AnyAnswer } from "../call/base-caller.js";
import type { ItemTarget } from "../call/items/send-items.js";
import type { CallOptions } from "../call/options.js";
import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { callFailure, RpcError } from "../errors.js";
import type { CallingHost } from "./calling.js";
import { isEndOfSession, noteEndOfSession } from "../transport/close-codes.js";

/**
 * Returns `error` with the names of the method and the peer added to its message. Returns a copy if `error` already
 * belongs to a call, so that calls that fail together do not share an error.
 */
export function callFailureOf(error: RpcError, method: AnyMethod, peer: string | undefined): RpcError {
  return callFailure(error.fromCall ? copyOf(error) : error, fullName(method), peer);
}

function copyOf(error: RpcError): RpcError {
  const copy = new RpcError(error.code, error.message, error);
  return isEndOfSession(error) ? noteEndOfSession(copy) : copy;
}

/** Decides whether a call that has ended is made again, for callers that repeat calls on another session. */
export interface CallOwner {
  /**
   * Called when a call has ended: with its error, or with undefined if it succeeded. Returns true if the call will be
   * made again.
   */
  onOver(error: RpcError | undefined): boolean;
}

export interface SentItems extends ItemTarget {
  stop(): void;
}

/** A call from its creation to its end. A session to send it on may only be available later. */
export abstract class PendingCall {
  abstract readonly answer: AnyAnswer;
  owner: CallOwner | undefined = undefined;
  over = false;
  readonly method: AnyMethod;
  /** Called when the call ends. Stops waiting for a session, or watching the call's signals and timeout. */
  unwatch: (() => void) | undefined = undefined;
  /** The source of the caller's items, until the sending code takes it over. */
  declare source?: unknown;
  /** Sends the items of the caller. Absent before the call is started, and if the caller sends a single message. */
  declare items?: SentItems | undefined;
  /** Called when `items` was set. Used by duplex calls, whose application writes the items. */
  declare onStarted?: (() => void) | undefined;

  constructor(method: AnyMethod) {
    this.method = method;
  }

  /** Sends the call on a session. Never throws: a failure ends the call. */
  abstract start(host: CallingHost, input: unknown, options: CallOptions | undefined): void;

  /**
   * Forwards the stream of a call that another caller makes in place of this one. Absent if the response is a promise.
   */
  follow?(answer: unknown): void;

  /** Returns whether items of the response, or its end, have arrived. Absent if the response is a promise. */
  received?(): boolean;

  /** Ends the call, unless it has already ended. The application receives `error` unchanged. */
  end(error: RpcError | undefined, result?: unknown): void {
    if (this.over) return;
    this.settle();
    this.finish(error, result);
  }

  /** Called when the call has succeeded or failed: stops its timers and its items. */
  protected settle(): void {
    this.over = true;
    this.unwatch?.();
    this.unwatch = undefined;
    this.items?.stop();
  }

  /** Passes the result or error to the application, unless the owner makes the call again. */
  protected finish(error: RpcError | undefined, result?: unknown): void {
    if (this.owner?.onOver(error)) this.over = false;
    else this.conclude(error, result);
  }

  /** Passes the result or error to the application. */
  protected abstract conclude(error: RpcError | undefined, result: unknown): void;
}

/** Calls `stop` when `call` ends. Used for a call that was not started, or that follows the call of another caller. */
export function atEnd(call: PendingCall, stop: () => void): void {
  if (call.over) stop();
  else call.unwatch = stop;
}

/**
 * Settles `call` in the same way as `answer`, the promise or stream of the call that another caller makes in its place.
 */
export function followAnswer(call: PendingCall, answer: unknown): void {
  call.source = undefined;
  if (call.follow === undefined) {
    (answer as Promise<unknown>).then(
      (result) => call.end(undefined, result),
      (error: unknown) => call.end(error as RpcError),
    );
  } else {
    call.follow(answer);
  }
}
