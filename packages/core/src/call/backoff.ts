import type { RpcError } from "../errors.js";
import { expiries } from "./expiries.js";
import type { CallOptions } from "./options.js";
import { watch } from "./watch.js";

/** Settings of the delays between connection attempts: the delays grow exponentially and have random jitter. */
export interface Backoff {
  /** Upper bound of the delay before the second attempt, in milliseconds. Default 100. */
  readonly initialMs: number;
  /** Maximum delay in milliseconds. Default 30,000. */
  readonly maxMs: number;
  /** Factor by which the delay grows after each failed attempt. Default 1.6. */
  readonly factor: number;
}

export const DEFAULT_BACKOFF: Backoff = { initialMs: 100, maxMs: 30_000, factor: 1.6 };

/**
 * Returns the delay before the next attempt, in milliseconds. It is a random number between 50% and 100% of the
 * exponential delay, so that the clients of a restarted server do not all reconnect at once.
 *
 * @param failures number of consecutive failed attempts before this one, from 0
 */
export function backoffDelay(failures: number, { initialMs, maxMs, factor }: Backoff): number {
  const ceilingMs = Math.min(maxMs, initialMs * factor ** failures);
  return ceilingMs * (0.5 + Math.random() / 2);
}

const MAX_ATTEMPT_DELAY_MS = 5000;

interface GivingUp {
  readonly options: CallOptions;
  readonly timeoutMs?: number | undefined;
  readonly cancel: (error: RpcError) => void;
}

/**
 * Calls `attempt` after the backoff delay for `failures` consecutive failures. If the call's timeout expires or its
 * signal fires first, calls `end.giveUp` instead. Returns a function that cancels both.
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
        cancel(error) {
          expiries.remove(expiry);
          end.cancel(error);
        },
      },
      expiries,
    );
  return () => {
    expiries.remove(expiry);
    unwatch?.();
  };
}
