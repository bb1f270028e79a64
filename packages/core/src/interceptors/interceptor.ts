import type { AnswerMetadata } from "../call/items/item-stream.js";
import type { CallOptions } from "../call/options.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { Metadata } from "../metadata.js";
import type { CallContext } from "../server/context.js";

/** One call as interceptors see it: the same on both sides, for every kind. */
export interface InterceptedCall {
  /** Whether this side made the call, or serves it. */
  readonly side: "caller" | "callee";
  /** The descriptor of the method, with its service, name, kind and `meta`. */
  readonly method: AnyMethod;
  /** Metadata that goes with the request. On the caller's side it may be added to. */
  readonly metadata: Metadata;
  /** When the caller stops waiting, in milliseconds since the epoch; undefined: never. On the caller's side another may be passed on. */
  readonly deadline: number | undefined;
  /** The signal of the call: on the callee's side its handler's, on the caller's side that of its options, undefined where there is none. */
  readonly signal: AbortSignal | undefined;
  /**
   * True for a request that belongs to a call and is not a call itself, such as the upload of a blob over HTTP: the
   * interceptors decide whether it is permitted, except those with `checksPermission: false`. It has no `input`, no handler
   * runs, and `next` returns an empty answer.
   */
  readonly isPermissionCheck?: boolean;
  /** The caller's message; undefined if it streams, and for a permission check. */
  readonly input: unknown;
  /** The caller's messages, where it streams. */
  readonly inputs: AsyncIterable<unknown> | undefined;
  /** Options that the caller gave. Only on its side. */
  readonly options: CallOptions | undefined;
  /** Context that the handler receives. Only on its side. */
  readonly context: CallContext | undefined;
}

/** Answer of a call. Metadata and trailers are complete when the message is there, or the messages have ended. */
export interface InterceptedAnswer extends AnswerMetadata {
  /** The callee's message; undefined where it streams. */
  readonly output: unknown;
  /** The callee's messages, where it streams. */
  readonly outputs: AsyncIterable<unknown> | undefined;
}

/** Goes on with a call, which may be another than was received, and may be gone on with again. */
export type Next = (call: InterceptedCall) => Promise<InterceptedAnswer>;

/**
 * Wraps calls: acts before and after `next`, passes on a changed call, or answers itself. Rejects with the call's error. If
 * a side streams, errors also come out of the iterables.
 */
export interface Interceptor {
  (call: InterceptedCall, next: Next): Promise<InterceptedAnswer>;
  /**
   * False if the interceptor never refuses a call because of who makes it, as one that logs or measures: it then does not
   * run for permission checks, and error messages of unknown methods may list the services. Default: true
   */
  readonly checksPermission?: boolean;
}

/** Marks an interceptor that does not decide who may call. */
export function withoutPermissionCheck(interceptor: Interceptor): Interceptor {
  return Object.assign(interceptor, { checksPermission: false });
}

/** `interceptors` around `innermost`; the first is the outermost. */
export function compose(interceptors: readonly Interceptor[], innermost: Next): Next {
  return interceptors.reduceRight<Next>((next, interceptor) => (call) => interceptor(call, next), innermost);
}
