import type { Limits } from "./limits.js";

/** Limits of a caller that has no sessions, such as a client over plain HTTP. */
export type CallerLimits = Pick<
  Limits,
  "maxFrameBytes" | "maxMetadataBytes" | "maxResumeMs" | "maxSessionBytes" | "maxTimeoutMs"
>;

/**
 * Default values of `CallerLimits`. In a separate module, so that a page that only calls over HTTP does not load the
 * other limits.
 */
export const CALLER_LIMITS: CallerLimits = {
  maxFrameBytes: 4_194_304,
  maxSessionBytes: 33_554_432,
  maxMetadataBytes: 16_384,
  maxResumeMs: 300_000,
  maxTimeoutMs: 2_147_483_647,
};
