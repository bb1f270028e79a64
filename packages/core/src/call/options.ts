import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import type { Metadata, MetadataInit } from "../metadata.js";
import { onAbort } from "./abort.js";

/** What a caller may set for one call. */
export interface CallOptions {
  /** Aborting cancels the call, here and in the handler. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the call fails with `deadline_exceeded`, here and in the handler. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Goes to the handler with the request. */
  readonly metadata?: MetadataInit | undefined;
  /**
   * Hears what the callee says before its answer or first item, once; of an answer without metadata, empty metadata. Not
   * called when no answer comes.
   */
  readonly onHeader?: ((metadata: Metadata) => void) | undefined;
  /** Hears what the callee says with its last word, before the call settles; errors have it as `metadata` as well. */
  readonly onTrailer?: ((trailers: Metadata) => void) | undefined;
  /**
   * Whether the call shares a lane with others or has a stream of its own. Default: a lane for single messages, a
   * stream for streams.
   */
  readonly via?: "lane" | "stream" | undefined;
  /**
   * Whether a connection without a session keeps the call until there is one (`limits.maxQueuedMs` at most); otherwise
   * it fails with `unavailable`. Default true. A session itself never waits.
   */
  readonly waitForReady?: boolean | undefined;
}

/**
 * The timeout as it is sent: whole milliseconds, at least 1. Throws `RpcError`: `deadline_exceeded` for zero or less,
 * `invalid_argument` for NaN. Infinity is no timeout.
 */
export function timeoutOf(options: CallOptions | undefined, limits: Limits): number | undefined {
  const timeoutMs = options?.timeoutMs;
  if (timeoutMs === undefined || timeoutMs === Number.POSITIVE_INFINITY) return undefined;
  if (Number.isNaN(timeoutMs)) throw new RpcError("invalid_argument", "timeoutMs is NaN");
  if (timeoutMs <= 0) throw new RpcError("deadline_exceeded", `timeoutMs is ${timeoutMs}: the deadline has passed`);
  return Math.min(Math.ceil(timeoutMs), limits.maxTimeoutMs);
}

/** Throws `cancelled` if the signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new RpcError("cancelled", "the call was cancelled", { cause: signal.reason });
}

/**
 * Calls `giveUp` when the signal fires or the time is over, whichever comes first, and at most once. Returns what
 * undoes the watch, or undefined when there is nothing to watch.
 */
export function watch(
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  giveUp: (error: RpcError) => void,
): (() => void) | undefined {
  if (signal === undefined && timeoutMs === undefined) return undefined;
  const onSignal = (): void => {
    unwatch();
    giveUp(new RpcError("cancelled", "the call was cancelled", { cause: signal?.reason }));
  };
  const onTime = (): void => {
    unwatch();
    giveUp(new RpcError("deadline_exceeded", `no answer within ${timeoutMs} ms`));
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(onTime, timeoutMs);
  const unwatch = (): void => {
    clearTimeout(timer);
    forget?.();
  };
  const forget = signal === undefined ? undefined : onAbort(signal, onSignal);
  return unwatch;
}
