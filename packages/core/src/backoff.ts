/** How long to wait between attempts: exponentially longer, and never in step with others. */
export interface Backoff {
  /** Milliseconds before the second attempt, before jitter. Default 100. */
  readonly initialMs: number;
  /** Milliseconds that no wait exceeds. Default 30,000. */
  readonly maxMs: number;
  /** How much longer each wait is than the one before. Default 1.6. */
  readonly factor: number;
}

export const DEFAULT_BACKOFF: Backoff = { initialMs: 100, maxMs: 30_000, factor: 1.6 };

/**
 * Milliseconds to wait after so many failures in a row, the first being 0. The upper half of the wait is random, so that
 * the clients of a server that restarts do not all come back at once.
 */
export function backoffDelay(failures: number, { initialMs, maxMs, factor }: Backoff): number {
  const most = Math.min(maxMs, initialMs * factor ** failures);
  return most * (0.5 + Math.random() / 2);
}
