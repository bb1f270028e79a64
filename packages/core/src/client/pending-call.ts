import type { AnyAnswer } from "../call/base-caller.js";
import type { ItemTarget } from "../call/items/send-items.js";
import type { CallOptions } from "../call/options.js";
import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { callFailure, RpcError } from "../errors.js";
import type { CallingHost } from "./calling.js";
import { isEndOfSession, noteEndOfSession } from "../transport/close-codes.js";

/**
 * Returns the error for the caller of one call, which names method and peer. Calls that end together, such as with
 * their session, get an error each.
 */
export function failureOf(error: RpcError, method: AnyMethod, peer: string | undefined): RpcError {
  return callFailure(error.fromCall ? copyOf(error) : error, fullName(method), peer);
}

function copyOf(error: RpcError): RpcError {
  const { code, message, reason, details, metadata, refused, cause, hint } = error;
  const copy = new RpcError(code, message, { reason, details, metadata, refused, cause, hint });
  return isEndOfSession(error) ? noteEndOfSession(copy) : copy;
}

/** Decides what happens at the end of a call, for callers that make a call on one session after another. */
export interface CallOwner {
  /** Called with the error of a call, or undefined if it succeeded. Returns true if the call will be made again. */
  onOver(error: RpcError | undefined): boolean;
}

/** The items that a caller streams, as its call sees them. */
export interface SentItems extends ItemTarget {
  /** Stops sending: the call is over. */
  stop(): void;
}

/** A call from its creation, when there may be no session for it yet, to its end. */
export abstract class PendingCall {
  /** The answer that the program receives. */
  abstract readonly answer: AnyAnswer;
  owner: CallOwner | undefined = undefined;
  over = false;
  readonly method: AnyMethod;
  /** Ends what must end with the call: a wait for a session, or the watch on signals and timeout. */
  unwatch: (() => void) | undefined = undefined;
  /** The source of the items that the caller streams, until another object reads and stops it. */
  declare source?: unknown;
  /** Sends the items that the caller streams; absent before the call is started, and for a call with one message. */
  declare items?: SentItems | undefined;
  /** Called when `items` was set, for a call whose caller writes them. */
  declare onStarted?: (() => void) | undefined;

  constructor(method: AnyMethod) {
    this.method = method;
  }

  /** Makes the call on a session. Never throws. */
  abstract start(host: CallingHost, input: unknown, options: CallOptions | undefined): void;

  /** Takes the answer of a call that another caller makes in place of this one. Absent if the answer is a promise. */
  follow?(answer: unknown): void;

  /** Whether items of the answer, or their end, have arrived. Absent if the answer is a promise. */
  received?(): boolean;

  /** Ends the call, unless it is over. The program receives the error as it is. */
  end(error: RpcError | undefined, result?: unknown): void {
    if (this.over) return;
    this.settle();
    this.finish(error, result);
  }

  /** Called when the call is over, successfully or not. */
  protected settle(): void {
    this.over = true;
    this.unwatch?.();
    this.unwatch = undefined;
    this.items?.stop();
  }

  /** Passes the end of the call to the program, unless its owner makes it again. */
  protected finish(error: RpcError | undefined, result?: unknown): void {
    if (this.owner?.onOver(error)) this.over = false;
    else this.conclude(error, result);
  }

  /** Passes the end of the call to the program. */
  protected abstract conclude(error: RpcError | undefined, result: unknown): void;
}

/** Calls `stop` when a call ends that was not started, or takes another call's answer. */
export function atEnd(call: PendingCall, stop: () => void): void {
  if (call.over) stop();
  else call.unwatch = stop;
}

/** Has a call take the answer of one that another caller makes in its place. */
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
