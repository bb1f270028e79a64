import type { Via } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import type { Metadata, MetadataInit } from "../metadata.js";

/** The call on whose behalf another call is made, such as the `context` of a handler. */
interface ParentCall {
  readonly signal: AbortSignal;
  /** Deadline in milliseconds since the Unix epoch; undefined for none. */
  readonly deadline: number | undefined;
}

/** Callbacks for one of the calls that a resumable stream consists of. */
export interface Attempt {
  /** Called when the call was sent on a session. */
  onMade(): void;
  /**
   * Called when the peer is closing this session and another session is available, so that the stream can continue
   * there.
   */
  onLeaving(): void;
  onOver: (() => void) | undefined;
}

/** Options of one call. */
export interface CallOptions {
  /** Aborting this signal cancels the call on this side and in the handler. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Time in milliseconds after which the call fails with `deadline_exceeded`, on this side and in the handler. Default:
   * no limit.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Deadline of the call: a date, or milliseconds since the Unix epoch. If `timeoutMs` is set as well, the earlier of
   * the two applies. Default: no limit.
   */
  readonly deadline?: Date | number | undefined;
  /**
   * The call on whose behalf this call is made: the `context` of a handler. This call is cancelled when the parent call
   * ends, and the parent's deadline applies to it as well. Default: none.
   */
  readonly parent?: ParentCall | undefined;
  /**
   * Priority of the call's stream: if the network is congested, streams with a higher number are sent first. A call
   * with a priority has its own stream, unless `via` is set. Default: the method's priority.
   */
  readonly priority?: number | undefined;
  /** Metadata of the request, which the handler can read. Default: none. */
  readonly metadata?: MetadataInit | undefined;
  /**
   * Key of a call of a `once` method, created by `createOnceKey`. A call with the key of an earlier call, perhaps of a
   * program that has ended, receives the earlier call's response. Default: a new key for each call.
   */
  readonly onceKey?: string | undefined;
  /**
   * Called once with the handler's `responseMetadata`, before the response or its first item. The metadata may be empty.
   * A call that fails without a response does not call it. Default: none.
   */
  readonly onResponseMetadata?: ((metadata: Metadata) => void) | undefined;
  /**
   * Called before the call settles, with the handler's `trailers`. If the call fails, its error contains them as
   * `metadata` too. Default: none.
   */
  readonly onTrailers?: ((trailers: Metadata) => void) | undefined;
  /**
   * Whether the call is sent on a lane (a stream that many calls share) or on its own stream. Default: the `via` of the
   * method, or of the session, or "auto".
   */
  readonly via?: Via | undefined;
  /**
   * Fallback for a notification with `delivery: "datagram"` if the session supports no datagrams or the message is too
   * large for one. "lane": sent like other notifications. "none": the call fails with `unimplemented` or
   * `resource_exhausted`. Default "lane".
   */
  readonly fallback?: "lane" | "none" | undefined;
  /**
   * Whether to compress the messages that this side sends for the call, if the peer can decompress them. Messages that
   * would not get shorter, and messages over 4 KiB that would shrink to less than a hundredth, are never compressed.
   * Default: messages of at least `compression.minBytes` bytes are compressed.
   */
  readonly compress?: boolean | undefined;
  /**
   * Whether a connection that is not connected queues the call, for at most `limits.maxQueuedMs`. If false, the call
   * fails with `unavailable`. A session never queues calls for this reason. Default true.
   */
  readonly waitForReady?: boolean | undefined;
  /**
   * Cursor of the item after which the handler continues a stream, if the stream's items have cursors. Take it from
   * `ItemStream.cursor`, for example to continue after a page reload. Default: the handler decides where the stream
   * begins.
   */
  readonly from?: string | undefined;
  /**
   * How long a stream with cursors or a resumable call tries to continue after its session was lost, in milliseconds.
   * At least one attempt is made; `Infinity` sets no limit. Only calls of a connection can continue, because a session
   * has no successor. Default: `limits.maxResumeMs`.
   */
  readonly resumeForMs?: number | undefined;
  /** @internal The request field that identifies a resumable call. Set on each of its attempts. */
  readonly resume?: Uint8Array | undefined;
  /** @internal Set if the call is one attempt of a stream that continues on other sessions. */
  readonly attempt?: Attempt | undefined;
}

/**
 * Returns the time until the call's deadline as sent to the peer: whole milliseconds, at least 1; undefined for no
 * limit. Throws `RpcError`: `deadline_exceeded` if the deadline has passed, `invalid_argument` for NaN and invalid
 * dates.
 */
export function timeoutOf(options: CallOptions | undefined, limits: Pick<Limits, "maxTimeoutMs">): number | undefined {
  if (options === undefined) return undefined;
  const { timeoutMs = Infinity, deadline = Infinity, parent } = options;
  const end = Math.min(Number(deadline), parent?.deadline ?? Infinity);
  const remainingMs = end === Infinity ? timeoutMs : Math.min(timeoutMs, end - Date.now());
  if (remainingMs === Infinity) return undefined;
  if (Number.isNaN(remainingMs)) throw new RpcError("invalid_argument", "timeoutMs or deadline is not a number");
  if (remainingMs <= 0) throw new RpcError("deadline_exceeded", "the deadline has passed", { refused: true });
  return Math.min(Math.ceil(remainingMs), limits.maxTimeoutMs);
}

/** Throws `RpcError` if a signal of the call has already fired: its own or that of the parent call. */
export function throwIfAborted(options: CallOptions | undefined): void {
  if (options === undefined) return;
  const { signal, parent } = options;
  if (signal?.aborted) throw cancelled(signal);
  if (parent?.signal.aborted) throw parentEnded(parent.signal);
}

export function cancelled(signal: AbortSignal): RpcError {
  return new RpcError("cancelled", "the call was cancelled", { cause: signal.reason });
}

/** Returns the error of a call whose parent call has ended. It has the same code as the end of the parent. */
export function parentEnded(signal: AbortSignal): RpcError {
  const { code } = RpcError.from(signal.reason, "cancelled");
  return new RpcError(code, "the parent call has ended", { cause: signal.reason });
}
