import type { Limits } from "./limits.js";

/** Limits that a caller goes by who makes no session. */
export type CallerLimits = Pick<
  Limits,
  "maxFrameBytes" | "maxMetadataBytes" | "maxResumeMs" | "maxSessionBytes" | "maxTimeoutMs"
>;

/** Their defaults: a page that calls over HTTP alone loads no others. */
export const CALLER_LIMITS: CallerLimits = {
  maxFrameBytes: 4_194_304,
  maxSessionBytes: 33_554_432,
  maxMetadataBytes: 16_384,
  maxResumeMs: 300_000,
  maxTimeoutMs: 2_147_483_647,
};
