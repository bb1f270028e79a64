import { CALLER_LIMITS } from "./caller-limits.js";
import type { Limits } from "./limits.js";

/** Limits that only a side goes by that serves. */
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

/** Limits that sessions and connections of a side go by that only calls, and may cost its peer. */
export type ClientLimits = Omit<Limits, ServingLimit>;

/** Their defaults: a page that only calls loads no others. */
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
 * All of them. An error's message, the metadata and the trailers may share one frame with what frames them: none may be
 * larger than a quarter of `maxFrameBytes`.
 */
export function completeClientLimits(given?: Partial<ClientLimits>): ClientLimits {
  // One object for all sessions.
  if (given === undefined) return CLIENT_LIMITS;
  const limits = { ...CLIENT_LIMITS, ...given };
  const quarter = Math.floor(limits.maxFrameBytes / 4);
  return {
    ...limits,
    // A limit that was given is kept; a default grows with the larger limits that were given.
    maxSessionBytes: given.maxSessionBytes ?? Math.max(limits.maxSessionBytes, limits.maxFrameBytes * 8),
    maxErrorMessageBytes: Math.min(limits.maxErrorMessageBytes, quarter),
    maxMetadataBytes: Math.min(limits.maxMetadataBytes, quarter),
  };
}
