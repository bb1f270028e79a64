import { expiries } from "./expiries.js";
import type { CallOptions } from "./options.js";
import { watchBy, type Watched } from "./watch-by.js";

/**
 * Calls `giveUp` of `watched` when one of the call's signals fires or the time is over, whichever comes first, and at most once. Returns
 * what undoes the watch, or undefined when there is nothing to watch.
 */
export function watch(
  options: CallOptions | undefined,
  timeoutMs: number | undefined,
  watched: Watched,
): (() => void) | undefined {
  return watchBy(expiries, options, timeoutMs, watched);
}
