/** Every limit of a session, enforced before memory is spent on what exceeds it. */
export interface Limits {
  /** Bytes of one frame as received: a message and its few bytes of framing. */
  readonly maxFrameBytes: number;
  /** Calls the peer may have in progress on one lane. A lane's call ids stay below it. */
  readonly maxCallsPerLane: number;
  /** Streams of calls the peer may have in progress on one session, lanes included. */
  readonly maxStreams: number;
  /** Bytes of an error's message, as received and as sent: a longer one is cut when sent. */
  readonly maxErrorMessageBytes: number;
  /** Largest `timeoutMs`; larger ones are lowered to it. 2^31-1 is the largest delay of a timer. */
  readonly maxTimeoutMs: number;
}

/** What holds where nothing else is set. */
export const DEFAULT_LIMITS: Limits = {
  maxFrameBytes: 4 * 1024 * 1024,
  maxCallsPerLane: 65_536,
  maxStreams: 10_000,
  maxErrorMessageBytes: 64 * 1024,
  maxTimeoutMs: 2 ** 31 - 1,
};
