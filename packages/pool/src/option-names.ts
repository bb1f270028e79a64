import { DEFAULT_LIMITS } from "@quicrpc/core";
import { DEFAULT_BACKOFF, type OptionNames } from "@quicrpc/core/internal";
import { DEFAULT_OUTLIERS } from "./outliers.js";
import type { PoolOptions } from "./pool.js";

/** Names of the options of a pool, except `isPermanent`, which is set by the dialling package. */
export const POOL_OPTIONS: OptionNames<Omit<PoolOptions, "isPermanent">> = {
  backoff: DEFAULT_BACKOFF,
  balance: true,
  health: true,
  limits: DEFAULT_LIMITS,
  outliers: DEFAULT_OUTLIERS,
  refreshMs: true,
  sessionsPerTarget: true,
  subset: { size: true, client: true },
};
