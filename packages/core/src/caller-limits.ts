import type { Limits } from "./limits.js";

/** Limits of a caller without sessions. */
export type CallerLimits = Pick<
  Limits,
  "maxFrameBytes" | "maxMetadataBytes" | "maxResumeMs" | "maxSessionBytes" | "maxTimeoutMs"
>;

/** Defaults of these limits. Separate, so that a page that only calls over HTTP loads no others. */
export const CALLER_LIMITS: CallerLimits = {
  maxFrameBytes: 4_194_304,
  maxSessionBytes: 33_554_432,
  maxMetadataBytes: 16_384,
  maxResumeMs: 300_000,
  maxTimeoutMs: 2_147_483_647,
};
