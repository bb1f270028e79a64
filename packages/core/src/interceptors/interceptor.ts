import type { AnswerMetadata } from "../call/items/item-stream.js";
import type { CallOptions } from "../call/options.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { Metadata } from "../metadata.js";
import type { CallContext } from "../server/context.js";

/** A call as interceptors see it. It is the same for both sides and for every kind of method. */
export interface InterceptedCall {
  /** "caller" if this side made the call, "callee" if it serves the call. */
  readonly side: "caller" | "callee";
  /** The descriptor of the method, with its service, name, kind and `meta`. */
  readonly method: AnyMethod;
  /** Metadata of the request. Interceptors of the caller may add to it. */
  readonly metadata: Metadata;
  /** Deadline in milliseconds since the epoch; undefined for none. Interceptors of the caller may pass on another one. */
  readonly deadline: number | undefined;
  /** The call's abort signal: for a callee, the handler's signal; for a caller, the signal in the call's options, or undefined. */
  readonly signal: AbortSignal | undefined;
  /**
   * True for a request that reaches no handler: a call with an input that cannot be read, the resumption of a call, or
   * the upload of a blob over HTTP. Interceptors decide whether it is permitted, except those with
   * `checksPermission: false`. It has no `input`, and `next` returns an empty response.
   */
  readonly isPermissionCheck?: boolean;
  /** The caller's message; undefined if the caller streams, and for a permission check. */
  readonly input: unknown;
  /** The caller's messages, if it streams. */
  readonly inputs: AsyncIterable<unknown> | undefined;
  /** The options of the call. Callers only. */
  readonly options: CallOptions | undefined;
  /** The handler's context. Callees only. */
  readonly context: CallContext | undefined;
}

/** The response of a call. Metadata and trailers are complete when `output` is available, or when `outputs` has ended. */
export interface InterceptedResponse extends AnswerMetadata {
  /** The callee's message; undefined if it streams. */
  readonly output: unknown;
  /** The callee's messages, if it streams. */
  readonly outputs: AsyncIterable<unknown> | undefined;
}

/** Continues a call. An interceptor may pass on a changed call, and may call `next` more than once. */
export type Next = (call: InterceptedCall) => Promise<InterceptedResponse>;

/**
 * Wraps calls: it can act before and after `next`, pass on a changed call, or respond itself. Rejects with the call's
 * error. If a side streams, its iterable can also throw errors.
 */
export interface Interceptor {
  (call: InterceptedCall, next: Next): Promise<InterceptedResponse>;
  /**
   * False if the interceptor never refuses a call because of its caller, such as one that logs or measures. It then
   * does not run for permission checks, and errors about unknown methods may list the services. Default: true
   */
  readonly checksPermission?: boolean;
}

/** Marks an interceptor that never refuses a call because of its caller. */
export function withoutPermissionCheck(interceptor: Interceptor): Interceptor {
  return Object.assign(interceptor, { checksPermission: false });
}

/** Returns `innermost` wrapped in `interceptors`; the first is the outermost. */
export function compose(interceptors: readonly Interceptor[], innermost: Next): Next {
  return interceptors.reduceRight<Next>((next, interceptor) => (call) => interceptor(call, next), innermost);
}
