import type { Session } from "@quicrpc/core";

/** Share of the time that is left by which a session is renewed early, up to twice as much, so that clients do not come back all at once. */
const EARLY = 0.05;
/** The most of it in milliseconds, before it is doubled. */
const EARLY_MS = 30_000;
/** The longest time of a timer: with a longer one it would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Drains a session shortly before what its client proved itself with expires, unless that is renewed: the client makes the next one with new
 * credentials, to which new calls go at once. Calls in progress have until `graceMs` after the expiry, and then fail with `unavailable`.
 */
export class SessionExpiry {
  private readonly graceMs: number;
  private readonly random: () => number;
  private session: Session | undefined = undefined;
  private expiresAt = 0;
  private over = false;
  private gone: (() => void) | undefined = undefined;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(graceMs: number, random: () => number = Math.random) {
    this.graceMs = graceMs;
    this.random = random;
  }

  /** Begins, for a session whose credentials expire then; undefined: never. */
  follow(session: Session, expiresAt: number | undefined): void {
    this.session = session;
    this.renew(expiresAt);
    const stop = (): void => this.stop();
    void session.draining.then(stop);
    void session.closed.then(() => {
      stop();
      this.gone?.();
    });
  }

  /** The credentials of the session expire at another time. */
  renew(expiresAt: number | undefined): void {
    clearTimeout(this.timer);
    if (expiresAt === undefined || this.over) return;
    this.expiresAt = expiresAt;
    this.wait(expiresAt - Math.min(EARLY_MS, Math.max(0, expiresAt - Date.now()) * EARLY) * (1 + this.random()));
  }

  /** Calls `gone` when the session has ended. The one before is forgotten: a session has its credentials renewed as often as it likes. */
  onClosed(gone: () => void): void {
    this.gone = gone;
  }

  private wait(until: number): void {
    const delay = Math.max(0, until - Date.now());
    const fire = (): void => {
      if (delay > MAX_TIMER_MS) this.wait(until);
      else void this.session?.drain({ timeoutMs: Math.max(0, this.expiresAt + this.graceMs - Date.now()) });
    };
    this.timer = setTimeout(fire, Math.min(delay, MAX_TIMER_MS));
    this.timer.unref();
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.over = true;
  }
}
