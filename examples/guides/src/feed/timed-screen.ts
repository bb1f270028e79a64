// Times of a batch: see docs/batches.md.
import { type Caller, interceptCaller } from "@quicrpc/core";
import { batchTimings, type BatchStep } from "@quicrpc/services";
import { loadScreen } from "./screen.js";

// #region timed
export function timedScreen(caller: Caller, id: string, show: (steps: readonly BatchStep[]) => void): Promise<unknown> {
  return loadScreen(interceptCaller(caller, [batchTimings(show)]), id);
}
// #endregion timed
