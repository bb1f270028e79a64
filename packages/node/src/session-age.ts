import type { Session } from "@quicrpc/core";

/** How far an age may be from the one that was given, either way, so that sessions that began together do not end so. */
const JITTER = 0.1;

/** The longest time of a timer: with a longer one it would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Drains a session when it has lived for about `maxMs`: calls in progress finish, and a client that heals has its next session
 * wherever a balancer leads it by then.
 */
export function limitAge(session: Session, maxMs: number): void {
  const age = maxMs * (1 - JITTER + 2 * JITTER * Math.random());
  const timer = setTimeout(() => void session.drain(), Math.min(age, MAX_TIMER_MS)).unref();
  const stop = (): void => clearTimeout(timer);
  void session.draining.then(stop);
  void session.closed.then(stop);
}
