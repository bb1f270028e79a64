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
