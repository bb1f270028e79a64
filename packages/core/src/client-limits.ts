import { CALLER_LIMITS } from "./caller-limits.js";
import type { Limits } from "./limits.js";

/** Limits that only the serving side uses. */
type ServingLimit =
  | "maxDecompressedBytes"
  | "maxServerBytes"
  | "maxCalls"
  | "maxWaitingCalls"
  | "maxCloseMs"
  | "handlerGraceMs"
  | "maxSuspendedCalls"
  | "maxAuthentications"
  | "maxPrincipalCalls"
  | "maxPrincipalBlobs"
  | "maxPrincipalBlobBytes";

/** Limits of sessions and connections that only make calls. They also protect such a side against its peer. */
export type ClientLimits = Omit<Limits, ServingLimit>;

/** Defaults of these limits. Separate, so that a page that only makes calls loads no others. */
export const CLIENT_LIMITS: ClientLimits = {
  ...CALLER_LIMITS,
  maxCallsPerLane: 65_536,
  maxStreams: 4096,
  maxErrorMessageBytes: 65_536,
  maxAcknowledgeMs: 5000,
  maxQueuedBytes: 67_108_864,
  maxQueuedMs: 10_000,
  maxDrainMs: 30_000,
  maxHandshakeMs: 10_000,
  maxGreetingBytes: 16_384,
  maxBlobBytes: 1_073_741_824,
  maxRetainedBlobBytes: CALLER_LIMITS.maxFrameBytes,
};

/**
 * Fills in defaults. An error's message, the metadata and the trailers may share one frame, together with its header:
 * each may take at most a quarter of `maxFrameBytes`.
 */
export function completeClientLimits(given?: Partial<ClientLimits>): ClientLimits {
  // The same object for all sessions.
  if (given === undefined) return CLIENT_LIMITS;
  const limits = { ...CLIENT_LIMITS, ...given };
  const quarter = Math.floor(limits.maxFrameBytes / 4);
  return {
    ...limits,
    // An explicit limit is kept; a default grows if related limits are larger.
    maxSessionBytes: given.maxSessionBytes ?? Math.max(limits.maxSessionBytes, limits.maxFrameBytes * 8),
    maxErrorMessageBytes: Math.min(limits.maxErrorMessageBytes, quarter),
    maxMetadataBytes: Math.min(limits.maxMetadataBytes, quarter),
  };
}
