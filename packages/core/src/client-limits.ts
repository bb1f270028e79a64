import { CALLER_LIMITS } from "./caller-limits.js";
import type { Limits } from "./limits.js";

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

/**
 * Limits of sessions and connections that only make calls. They also protect the client against a misbehaving server.
 */
export type ClientLimits = Omit<Limits, ServingLimit>;

/**
 * Default values of `ClientLimits`. In a separate module, so that a page that only makes calls does not load the limits
 * of servers.
 */
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
 * Returns `overrides` with defaults for missing limits. Caps `maxErrorMessageBytes` and `maxMetadataBytes` at a quarter of
 * `maxFrameBytes`, because an error message, metadata and trailers may have to fit into one frame.
 */
export function completeClientLimits(overrides?: Partial<ClientLimits>): ClientLimits {
  // All sessions with default limits share one object.
  if (overrides === undefined) return CLIENT_LIMITS;
  const limits = { ...CLIENT_LIMITS, ...overrides };
  const quarter = Math.floor(limits.maxFrameBytes / 4);
  return {
    ...limits,
    // An explicit limit is kept; the default grows with `maxFrameBytes`.
    maxSessionBytes: overrides.maxSessionBytes ?? Math.max(limits.maxSessionBytes, limits.maxFrameBytes * 8),
    maxErrorMessageBytes: Math.min(limits.maxErrorMessageBytes, quarter),
    maxMetadataBytes: Math.min(limits.maxMetadataBytes, quarter),
  };
}
