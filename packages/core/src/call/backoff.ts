import type { RpcError } from "../errors.js";
import { expiries } from "./expiries.js";
import type { CallOptions } from "./options.js";
import { watch } from "./watch.js";

/** Delays between attempts: they grow exponentially and are randomized. */
export interface Backoff {
  /** Milliseconds before the second attempt, before jitter is applied. Default 100. */
  readonly initialMs: number;
  /** Longest delay in milliseconds. Default 30,000. */
  readonly maxMs: number;
  /** Each delay is this many times as long as the one before. Default 1.6. */
  readonly factor: number;
}

export const DEFAULT_BACKOFF: Backoff = { initialMs: 100, maxMs: 30_000, factor: 1.6 };

/**
 * Returns the milliseconds to wait before the next attempt. The upper half of the delay is random, so that the clients
 * of a restarted server do not all reconnect at once.
 *
 * @param failures number of earlier failures in a row, from 0
 */
export function backoffDelay(failures: number, { initialMs, maxMs, factor }: Backoff): number {
  const most = Math.min(maxMs, initialMs * factor ** failures);
  return most * (0.5 + Math.random() / 2);
}

/** Longest delay between attempts of a call, which cost a request or an entry of a queue each. */
const MAX_ATTEMPT_DELAY_MS = 5000;

/** The end of a call whose next attempt is awaited: by the call's own time or signals. */
interface GivingUp {
  readonly options: CallOptions;
  readonly timeoutMs?: number | undefined;
  readonly giveUp: (error: RpcError) => void;
}

/**
 * Calls `attempt` after the backoff for this many failures in a row, unless `end.giveUp` is called first, by the call's timeout or signal. Calls at
 * most one of the two, and neither after the returned function was called.
 */
export function scheduleAttempt(failures: number, attempt: () => void, end?: GivingUp): () => void {
  const delayMs = backoffDelay(failures, { ...DEFAULT_BACKOFF, maxMs: MAX_ATTEMPT_DELAY_MS });
  const expiry = expiries.add(delayMs, () => {
    unwatch?.();
    attempt();
  });
  const unwatch =
    end &&
    watch(
      end.options,
      end.timeoutMs,
      {
        giveUp(error) {
          expiries.remove(expiry);
          end.giveUp(error);
        },
      },
      expiries,
    );
  return () => {
    expiries.remove(expiry);
    unwatch?.();
  };
}
