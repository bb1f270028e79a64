import { CLIENT_LIMITS, completeClientLimits } from "./client-limits.js";

/** Every limit of a session, enforced before memory is spent on what exceeds it. */
export interface Limits {
  /** Bytes of one frame: a message and its few bytes of framing. A call with a larger one fails with `resource_exhausted`. */
  readonly maxFrameBytes: number;
  /** Size of a compressed message after decompression. */
  readonly maxDecompressedBytes: number;
  /**
   * Bytes that the peer of a session makes this side hold. These count: frames that are not complete, requests in
   * progress and those that wait, items that nobody has read, and what the peer does not read. What values take is
   * estimated. More is refused with `resource_exhausted`. At least eight frames of `maxFrameBytes`.
   */
  readonly maxSessionBytes: number;
  /** The same for all sessions of a server together. When it is reached, the largest sessions are closed. The value must be at least three times `maxSessionBytes`. */
  readonly maxServerBytes: number;
  /**
   * Calls and notifications of the peer in progress on one session: until they are over and their handlers have settled. Over HTTP: those of all clients.
   * A client learns the number when it connects, and keeps more in its queue; those that arrive all the same are refused with `resource_exhausted`.
   */
  readonly maxCalls: number;
  /** Calls of the peer that wait for one of those to be over, in the order they came, rather than being refused. */
  readonly maxWaitingCalls: number;
  /** Calls in progress on one lane; its call ids stay below it. */
  readonly maxCallsPerLane: number;
  /** Streams of calls the peer may have in progress on one session, lanes included. */
  readonly maxStreams: number;
  /** Bytes of an error's message: a longer one is cut when it is sent. */
  readonly maxErrorMessageBytes: number;
  /** Bytes of the metadata of one call as sent in one direction, and of its trailers. */
  readonly maxMetadataBytes: number;
  /** Milliseconds that a clean close waits for the peer to have received what was sent before. */
  readonly maxCloseMs: number;
  /** Milliseconds that a close waits for the peer to acknowledge notifications, unless it says so itself. */
  readonly maxAcknowledgeMs: number;
  /**
   * Bytes of the calls that wait on a connection, for a session or because the server has as many calls in progress as it takes at once: their
   * inputs, and 512 for each. More fail with `resource_exhausted`.
   */
  readonly maxQueuedBytes: number;
  /** Milliseconds that a handler may run on when its call is over before it is reported to `onError`. */
  readonly handlerGraceMs: number;
  /**
   * Milliseconds that a call waits for a session, or for one that waits before it to start, unless its own timeout is shorter. While a server drains
   * that will end, they count from the end of its drain.
   */
  readonly maxQueuedMs: number;
  /**
   * Milliseconds that a stream whose items have cursors, and a resumable call, tries to go on after the loss of its
   * session, unless its caller sets another time. Also the longest time that a callee keeps a resumable call.
   */
  readonly maxResumeMs: number;
  /** Most resumable calls of a router that may wait for a session. Beyond it, the oldest calls of the client with the most calls are ended. */
  readonly maxSuspendedCalls: number;
  /** Milliseconds that a drain waits for the calls in progress, unless it says so itself. */
  readonly maxDrainMs: number;
  /**
   * Milliseconds until the peer has greeted, where the session is one byte stream. Of `serve`: also until a connection is a session that
   * `authenticate` has let in, whatever it does meanwhile.
   */
  readonly maxHandshakeMs: number;
  /** Bytes of a client's greeting that are read before `authenticate` has decided: its credentials and session metadata, and a few more. */
  readonly maxGreetingBytes: number;
  /**
   * Calls of `authenticate` of `serve` at once, until they have settled. One address has three quarters of them at most. Others wait for their
   * turn: addresses take turns, and 16 times as many may wait. Beyond that, the newest of the address with the most are refused with
   * `resource_exhausted`.
   */
  readonly maxAuthentications: number;
  /** Bytes of a blob that a peer sends, where the schema does not say. A larger one is refused before any of it is read. */
  readonly maxBlobBytes: number;
  /**
   * Bytes of a resumable blob whose source is a stream that its sender retains, to send them again after the loss of a session. They are counted in
   * `maxSessionBytes`, and fewer are retained where that leaves no room.
   */
  readonly maxRetainedBlobBytes: number;
  /**
   * Calls over HTTP that one principal may have in progress; where principals are not told apart, one IPv4 address or IPv6 /64. The more places of
   * `maxCalls` others take, the fewer: a few clients do not take all. More are refused with `resource_exhausted`.
   */
  readonly maxPrincipalCalls: number;
  /**
   * Blobs of inputs that one principal may have in progress over all sessions of a server: until their handlers have settled. More are refused with
   * `resource_exhausted`, before any of them is read.
   */
  readonly maxPrincipalBlobs: number;
  /** Bytes of those blobs: as their sender says, else as many as may come. */
  readonly maxPrincipalBlobBytes: number;
  /** Largest timeout that either side may ask for. Larger values are reduced to it. 2^31-1 is the largest delay of a timer. */
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

/** Limits that `completeLimits` has returned. */
const completed: WeakSet<Partial<Limits>> = /* @__PURE__ */ new WeakSet();

/** All limits. A default grows with the larger limits that were given. Those that are complete are returned as they are, so that sessions share them. */
export function completeLimits(given?: Partial<Limits>): Limits {
  // One object for all sessions.
  if (given === undefined) return DEFAULT_LIMITS;
  if (completed.has(given)) return given as Limits;
  const limits = { ...DEFAULT_LIMITS, ...given, ...completeClientLimits(given) };
  const maxServerBytes = given.maxServerBytes ?? Math.max(limits.maxServerBytes, limits.maxSessionBytes * 3);
  const complete = { ...limits, maxServerBytes };
  completed.add(complete);
  return complete;
}
