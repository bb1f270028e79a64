import type { Session } from "@quicrpc/core";

/**
 * A session is renewed when this share of its remaining time is left. It varies up to twofold, so that clients do not
 * all reconnect at once.
 */
const EARLY = 0.05;
/** Maximum of that in milliseconds, before it varies. */
const EARLY_MS = 30_000;
/** Maximum delay of a timer in milliseconds. A longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Drains a session shortly before its client's credentials expire, unless they are renewed. The client then creates the
 * next session with new credentials and uses it for new calls. Calls in progress may continue until `graceMs` after the
 * expiry, and then fail with `unavailable`.
 */
export class SessionExpiry {
  private readonly graceMs: number;
  private readonly random: () => number;
  private session: Session | undefined = undefined;
  private expiresAt = 0;
  private isStopped = false;
  private closedListener: (() => void) | undefined = undefined;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(graceMs: number, random: () => number = Math.random) {
    this.graceMs = graceMs;
    this.random = random;
  }

  /** Starts watching a session. `expiresAt` undefined: its credentials never expire. */
  watch(session: Session, expiresAt: number | undefined): void {
    this.session = session;
    this.renew(expiresAt);
    const stop = (): void => this.stop();
    void session.draining.then(stop);
    void session.closed.then(() => {
      stop();
      this.closedListener?.();
    });
  }

  /** Changes the expiry of the session. */
  renew(expiresAt: number | undefined): void {
    clearTimeout(this.timer);
    if (expiresAt === undefined || this.isStopped) return;
    this.expiresAt = expiresAt;
    this.drainAt(expiresAt - Math.min(EARLY_MS, Math.max(0, expiresAt - Date.now()) * EARLY) * (1 + this.random()));
  }

  /**
   * Calls `listener` when the session has ended, replacing an earlier callback: credentials can be renewed any number of
   * times.
   */
  onClosed(listener: () => void): void {
    this.closedListener = listener;
  }

  private drainAt(until: number): void {
    const delay = Math.max(0, until - Date.now());
    const fire = (): void => {
      if (delay > MAX_TIMER_MS) this.drainAt(until);
      else void this.session?.drain({ timeoutMs: Math.max(0, this.expiresAt + this.graceMs - Date.now()) });
    };
    this.timer = setTimeout(fire, Math.min(delay, MAX_TIMER_MS));
    this.timer.unref();
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.isStopped = true;
  }
}

/** Maximum relative deviation from the configured age, so that sessions that started together do not end together. */
const JITTER = 0.1;

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
