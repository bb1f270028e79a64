import { CLIENT_LIMITS, completeClientLimits } from "./client-limits.js";

/** The limits of a session. Each is enforced before memory is spent on data that exceeds it. */
export interface Limits {
  /** Most bytes of one frame: a message and a few bytes of header. A call with a larger message fails with `resource_exhausted`. */
  readonly maxFrameBytes: number;
  /** Most bytes of a compressed message after decompression. */
  readonly maxDecompressedBytes: number;
  /**
   * Most bytes that this side holds for the peer of a session: incomplete frames, requests in progress or waiting,
   * unread items, and data that the peer does not read. The memory of decoded values is estimated. More is refused with
   * `resource_exhausted`. At least eight times `maxFrameBytes`.
   */
  readonly maxSessionBytes: number;
  /**
   * Most bytes for all sessions of a server together. When the limit is reached, the largest sessions are closed. At
   * least three times `maxSessionBytes`.
   */
  readonly maxServerBytes: number;
  /**
   * Most calls and notifications of the peer in progress on one session. A call counts until it is over and its handler
   * has settled. Over HTTP, the limit applies to all clients together. A client learns the number when it connects and
   * queues further calls; calls that arrive anyway are refused with `resource_exhausted`.
   */
  readonly maxCalls: number;
  /** Most calls of the peer that wait for a place among `maxCalls`, in order of arrival, instead of being refused. */
  readonly maxWaitingCalls: number;
  /** Most calls in progress on one lane. Its call ids are smaller than this number. */
  readonly maxCallsPerLane: number;
  /** Most streams of calls that the peer may have open on one session, lanes included. */
  readonly maxStreams: number;
  /** Most bytes of an error's message. A longer one is truncated when it is sent. */
  readonly maxErrorMessageBytes: number;
  /** Most bytes of a call's metadata in one direction, and of its trailers. */
  readonly maxMetadataBytes: number;
  /** Milliseconds for which a clean close waits until the peer has received all data sent before. */
  readonly maxCloseMs: number;
  /** Milliseconds for which a close waits for the peer to acknowledge notifications, unless the close sets its own time. */
  readonly maxAcknowledgeMs: number;
  /**
   * Most bytes of the calls that wait on a connection, for a session or for a place among the server's `maxCalls`:
   * their inputs, and 512 bytes for each call. More calls fail with `resource_exhausted`.
   */
  readonly maxQueuedBytes: number;
  /** Milliseconds for which a handler may continue after its call is over, before it is reported to `onError`. */
  readonly handlerGraceMs: number;
  /**
   * Milliseconds for which a call waits for a session, or for an earlier waiting call to start, unless its own timeout
   * is shorter. While a server drains, the time counts from its drain's limit.
   */
  readonly maxQueuedMs: number;
  /**
   * Milliseconds for which a resumable call, or a stream with cursors, tries to continue after its session was lost,
   * unless the caller sets another time. It is also the longest time for which a callee keeps a resumable call.
   */
  readonly maxResumeMs: number;
  /**
   * Most resumable calls of a router that may wait for a session. Beyond it, the oldest calls of the client with the
   * most calls are ended.
   */
  readonly maxSuspendedCalls: number;
  /** Milliseconds for which a drain waits for the calls in progress, unless the drain sets its own time. */
  readonly maxDrainMs: number;
  /**
   * Milliseconds in which the peer must send its greeting, if the session is one byte stream. In `serve`, it is also
   * the longest time from the start of a connection until `authenticate` has accepted the session.
   */
  readonly maxHandshakeMs: number;
  /**
   * Most bytes of a client's greeting that are read before `authenticate` has decided: its credentials, its session
   * metadata, and a few more.
   */
  readonly maxGreetingBytes: number;
  /**
   * Most calls of `authenticate` in progress at once. A single address gets at most three quarters of them. Other
   * clients wait, and addresses take turns; at most 16 times this number wait. Beyond that, the newest of the address
   * with the most waiting clients are refused with `resource_exhausted`.
   */
  readonly maxAuthentications: number;
  /** Most bytes of a blob that a peer sends, unless the schema sets a limit. A larger blob is refused before any byte is read. */
  readonly maxBlobBytes: number;
  /**
   * Maximum bytes of a resumable blob from a stream that the sender retains, so that it can send them again after a
   * session is lost. They count towards `maxSessionBytes`; if there is no room, fewer bytes are retained.
   */
  readonly maxRetainedBlobBytes: number;
  /**
   * Most calls over HTTP that one principal may have in progress; without principals, one IPv4 address or IPv6 /64
   * network. The limit shrinks as others take more of `maxCalls`, so that a few clients cannot take all places. More
   * calls are refused with `resource_exhausted`.
   */
  readonly maxPrincipalCalls: number;
  /**
   * Most input blobs that one principal may have in progress, over all sessions of a server. A blob counts until its
   * handler has settled. More are refused with `resource_exhausted` before any byte is read.
   */
  readonly maxPrincipalBlobs: number;
  /** Most bytes of these blobs. If the sender does not state a length, the largest permitted length counts. */
  readonly maxPrincipalBlobBytes: number;
  /**
   * Longest timeout in milliseconds that either side may ask for. Larger values are reduced to it. 2^31-1 is the
   * longest delay of a timer.
   */
  readonly maxTimeoutMs: number;
}

/** Default limits. */
export const DEFAULT_LIMITS: Limits = {
  ...CLIENT_LIMITS,
  maxDecompressedBytes: 4_194_304,
  maxServerBytes: 100_663_296,
  maxCalls: 4096,
  maxWaitingCalls: 0,
  maxCloseMs: 1000,
  handlerGraceMs: 10_000,
  maxSuspendedCalls: 4096,
  maxAuthentications: 256,
  maxPrincipalCalls: 1024,
  maxPrincipalBlobs: 1024,
  maxPrincipalBlobBytes: 68_719_476_736,
};

const completed: WeakSet<Partial<Limits>> = /* @__PURE__ */ new WeakSet();

/** Fills in defaults; some grow if related limits are larger. Complete limits are returned unchanged, so that sessions share one object. */
export function completeLimits(overrides?: Partial<Limits>): Limits {
  // The same object for all sessions.
  if (overrides === undefined) return DEFAULT_LIMITS;
  if (completed.has(overrides)) return overrides as Limits;
  const limits = { ...DEFAULT_LIMITS, ...overrides, ...completeClientLimits(overrides) };
  const maxServerBytes = overrides.maxServerBytes ?? Math.max(limits.maxServerBytes, limits.maxSessionBytes * 3);
  const complete = { ...limits, maxServerBytes };
  completed.add(complete);
  return complete;
}
