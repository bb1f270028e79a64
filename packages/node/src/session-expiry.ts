import type { Session } from "@quicrpc/core";

/** Share of the time that is left by which a session is renewed early, up to twice as much, so that clients do not come back all at once. */
const EARLY = 0.05;
/** The earliest that a session is renewed, in milliseconds before its end. */
const MAX_EARLY_MS = 60_000;
/** The longest time of a timer: with a longer one it would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Drains a session shortly before what its client proved itself with expires: the client makes the next one with new credentials, to which new
 * calls go at once. Calls in progress have until `graceMs` after the expiry, and then fail with `unavailable`.
 */
export function endAtExpiry(
  session: Session,
  expiresAt: number,
  graceMs: number,
  random: () => number = Math.random,
): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = (until: number): void => {
    const delay = Math.max(0, until - Date.now());
    const fire = (): void => {
      if (delay > MAX_TIMER_MS) wait(until);
      else void session.drain({ timeoutMs: Math.max(0, expiresAt + graceMs - Date.now()) });
    };
    timer = setTimeout(fire, Math.min(delay, MAX_TIMER_MS));
    timer.unref();
  };
  const early = Math.min(MAX_EARLY_MS, Math.max(0, expiresAt - Date.now()) * EARLY * (1 + random()));
  wait(expiresAt - early);
  const stop = (): void => clearTimeout(timer);
  void session.draining.then(stop);
  void session.closed.then(stop);
}
