import type { Session } from "@quicrpc/core";

/** Maximum relative deviation from the configured age, so that sessions that started together do not end together. */
const JITTER = 0.1;

/** Maximum delay of a timer in milliseconds. A longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Drains a session after about `maxMs`. Calls in progress finish, and a client that reconnects gets its next session
 * from wherever a balancer leads it by then.
 */
export function limitAge(session: Session, maxMs: number): void {
  const age = maxMs * (1 - JITTER + 2 * JITTER * Math.random());
  const timer = setTimeout(() => void session.drain(), Math.min(age, MAX_TIMER_MS)).unref();
  const stop = (): void => clearTimeout(timer);
  void session.draining.then(stop);
  void session.closed.then(stop);
}
