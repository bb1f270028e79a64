import type { Via } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import type { Metadata, MetadataInit } from "../metadata.js";

/** A call that another is made for, as its handler's context. */
interface ParentCall {
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly deadline: number | undefined;
}

/** One of the calls that make up a caller's stream, as seen by its carrier. */
export interface Attempt {
  /** The call was made on a session. */
  onMade(): void;
  /** The session is going away and there is another: the stream should continue there. */
  onLeaving(): void;
  /** Called once when the attempt is over, to forget it. */
  onOver: (() => void) | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborting cancels the call, here and in the handler. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the call fails with `deadline_exceeded`, here and in the handler. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /** The same as a point in time: a date, or milliseconds since the epoch. The earlier of the two counts. Default: no limit. */
  readonly deadline?: Date | number | undefined;
  /**
   * The call that this one is made for: a handler's `context`. Its deadline counts for this call too, and so does its end:
   * when it is cancelled, this call is. Default: none.
   */
  readonly parent?: ParentCall | undefined;
  /**
   * Priority of the call's stream: when the connection is the bottleneck, streams with a higher number are sent first.
   * A call with a priority has its own stream, unless `via` says otherwise. Default: the method's.
   */
  readonly priority?: number | undefined;
  /** Goes to the handler with the request. Default: none. */
  readonly metadata?: MetadataInit | undefined;
  /**
   * Key of a call of a method that is `once`, by `createOnceKey`: for a call that was made before, perhaps by a program that has ended.
   * Default: a new one for each call.
   */
  readonly onceKey?: string | undefined;
  /**
   * Called once, before the answer or the first item, with the handler's `responseMetadata`, which may be empty. Not called
   * when no answer comes. Default: none.
   */
  readonly onResponseMetadata?: ((metadata: Metadata) => void) | undefined;
  /** Called before the call settles, with the handler's `trailers`; an error has them as `metadata` as well. Default: none. */
  readonly onTrailers?: ((trailers: Metadata) => void) | undefined;
  /** How the call travels. Default: as the method's descriptor says, or the session's options, or "auto". */
  readonly via?: Via | undefined;
  /**
   * What happens to a notification by datagram if the session has no datagrams, or if it is too large for one. "lane":
   * it is sent like any other. "none": the call fails with `unimplemented` or `resource_exhausted`. Default "lane".
   */
  readonly fallback?: "lane" | "none" | undefined;
  /**
   * Whether to compress the messages that this side sends for the call, if the peer can decompress them. Default:
   * messages of at least `compression.minBytes` of the session. Messages that would not get shorter, or would shrink to less
   * than a hundredth (beyond 4 KiB), are sent uncompressed in any case.
   */
  readonly compress?: boolean | undefined;
  /**
   * Whether a connection without a session keeps the call until there is one (`limits.maxQueuedMs` at most); otherwise
   * it fails with `unavailable`. Default true. A session itself never waits.
   */
  readonly waitForReady?: boolean | undefined;
  /**
   * The cursor of the item after which the handler of a stream continues, if its items have cursors. Take it from
   * `ItemStream.cursor`, for example to continue after a page was reloaded. Default: the handler decides where to
   * begin.
   */
  readonly from?: string | undefined;
  /**
   * For this many milliseconds after its session was lost, a stream whose items have cursors, or a resumable call,
   * tries to continue. At least one attempt is made. Infinity sets no limit. Calls of a session without a connection
   * cannot continue, because no other session follows. Default: `limits.maxResumeMs`.
   */
  readonly resumeForMs?: number | undefined;
  /** @internal The call is an attempt of a resumable one, by this field of its request. */
  readonly resume?: Uint8Array | undefined;
  /** @internal The call is one attempt of a stream. */
  readonly attempt?: Attempt | undefined;
}

/**
 * Returns the remaining time in whole milliseconds, at least 1, as it is sent. Throws `RpcError`: `deadline_exceeded`
 * if there is none left, `invalid_argument` for NaN and invalid dates. Infinity is no timeout.
 */
export function timeoutOf(options: CallOptions | undefined, limits: Pick<Limits, "maxTimeoutMs">): number | undefined {
  if (options === undefined) return undefined;
  const { timeoutMs = Infinity, deadline = Infinity, parent } = options;
  const end = Math.min(Number(deadline), parent?.deadline ?? Infinity);
  const left = end === Infinity ? timeoutMs : Math.min(timeoutMs, end - Date.now());
  if (left === Infinity) return undefined;
  if (Number.isNaN(left)) throw new RpcError("invalid_argument", "timeoutMs or deadline is not a number");
  if (left <= 0) throw new RpcError("deadline_exceeded", "the deadline has passed", { refused: true });
  return Math.min(Math.ceil(left), limits.maxTimeoutMs);
}

/** Throws when one of the call's signals has fired. */
export function throwIfAborted(options: CallOptions | undefined): void {
  if (options === undefined) return;
  const { signal, parent } = options;
  if (signal?.aborted) throw cancelled(signal);
  if (parent?.signal.aborted) throw parentEnded(parent.signal);
}

/** The error of a call whose signal has fired. */
export function cancelled(signal: AbortSignal): RpcError {
  return new RpcError("cancelled", "the call was cancelled", { cause: signal.reason });
}

/** A call made for another ends as that one does: by its deadline, say. */
export function parentEnded(signal: AbortSignal): RpcError {
  const { code } = RpcError.from(signal.reason, "cancelled");
  return new RpcError(code, "the parent call has ended", { cause: signal.reason });
}
