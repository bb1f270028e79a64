import type { AnswerMetadata } from "../call/items/item-stream.js";
import type { CallOptions } from "../call/options.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { Metadata } from "../metadata.js";
import type { CallContext } from "../server/context.js";

/** A call, in the form that interceptors receive. It is the same on both sides and for every kind of method. */
export interface InterceptedCall {
  /** "caller" if this side made the call, "callee" if it serves the call. */
  readonly side: "caller" | "callee";
  /** The descriptor of the method, with its service, name, kind and `meta`. */
  readonly method: AnyMethod;
  /** Metadata of the request. On the caller's side, interceptors may add entries. */
  readonly metadata: Metadata;
  /**
   * Deadline in milliseconds since the Unix epoch; undefined for none. On the caller's side, an interceptor may pass
   * another deadline to `next`.
   */
  readonly deadline: number | undefined;
  /**
   * Abort signal of the call. On the callee's side: the signal of the handler. On the caller's side: the signal in the
   * call options, if there is one.
   */
  readonly signal: AbortSignal | undefined;
  /**
   * True for a request that reaches no handler: a call whose input cannot be decoded, the resumption of a call, or the
   * upload of a blob over HTTP. Interceptors decide whether it is permitted, except those with `checksPermission:
   * false`. Such a call has no `input`, and `next` returns an empty response.
   */
  readonly isPermissionCheck?: boolean;
  /** The input of the call; undefined if the caller streams, and for a permission check. */
  readonly input: unknown;
  /** The items of the caller, if it streams; otherwise undefined. */
  readonly inputs: AsyncIterable<unknown> | undefined;
  /** The options of the call. Undefined on the callee's side. */
  readonly options: CallOptions | undefined;
  /** The context of the handler. Undefined on the caller's side. */
  readonly context: CallContext | undefined;
}

/** The response of a call. Its metadata and trailers are complete when `output` is available or `outputs` has ended. */
export interface InterceptedResponse extends AnswerMetadata {
  /** The output of the call; undefined if the callee streams. */
  readonly output: unknown;
  /** The items of the callee, if it streams; otherwise undefined. */
  readonly outputs: AsyncIterable<unknown> | undefined;
}

/**
 * Continues a call with the next interceptor, or makes or serves it. An interceptor may pass a changed call, and may
 * call `next` more than once.
 */
export type Next = (call: InterceptedCall) => Promise<InterceptedResponse>;

/**
 * A function that wraps calls. It can act before and after `next`, pass a changed call, or respond without calling
 * `next`. The returned promise rejects with the error of the call; the iterable of a stream can also throw.
 */
export interface Interceptor {
  (call: InterceptedCall, next: Next): Promise<InterceptedResponse>;
  /**
   * False if the interceptor never refuses a call because of its caller, such as one that logs or measures. It then
   * does not run for permission checks, and errors about unknown methods may list the services. Default: true.
   */
  readonly checksPermission?: boolean;
}

/** Sets `checksPermission` of an interceptor to false, because it never refuses a call because of its caller. */
export function withoutPermissionCheck(interceptor: Interceptor): Interceptor {
  return Object.assign(interceptor, { checksPermission: false });
}

/** Combines interceptors and `innermost` to one function; the first interceptor is the outermost. */
export function compose(interceptors: readonly Interceptor[], innermost: Next): Next {
  return interceptors.reduceRight<Next>((next, interceptor) => (call) => interceptor(call, next), innermost);
}
