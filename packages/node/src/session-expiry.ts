import type { Session } from "@quicrpc/core";

/**
 * Share of the remaining time before the expiry at which a session is drained early. The value is varied by a factor of
 * up to two, so that clients do not all reconnect at once.
 */
const EARLY = 0.05;
/** Maximum time in milliseconds before the expiry at which a session is drained, before random variation. */
const EARLY_MS = 30_000;
/** Maximum delay of a timer in milliseconds. Node fires a timer with a longer delay at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Drains a session shortly before its client's credentials expire, unless the client renews them. The client then
 * creates a new session with new credentials and uses it for new calls. Calls in progress may continue until `graceMs`
 * after the expiry, and then fail with `unavailable`.
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

  /**
   * Starts to watch the expiry of a session, in milliseconds since the epoch. If `expiresAt` is undefined, the session
   * never expires.
   */
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

  renew(expiresAt: number | undefined): void {
    clearTimeout(this.timer);
    if (expiresAt === undefined || this.isStopped) return;
    this.expiresAt = expiresAt;
    this.drainAt(expiresAt - Math.min(EARLY_MS, Math.max(0, expiresAt - Date.now()) * EARLY) * (1 + this.random()));
  }

  /**
   * Sets the listener for the end of the session. It replaces the previous listener, because credentials can be renewed
   * any number of times.
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

/**
 * Maximum relative variation of the configured session age, so that sessions that started together do not end together.
 */
const JITTER = 0.1;

/**
 * Drains a session after about `maxMs` milliseconds. Calls in progress finish, and a client that reconnects creates its
 * next session on the server that a balancer then selects.
 */
export function limitAge(session: Session, maxMs: number): void {
  const age = maxMs * (1 - JITTER + 2 * JITTER * Math.random());
  const timer = setTimeout(() => void session.drain(), Math.min(age, MAX_TIMER_MS)).unref();
  const stop = (): void => clearTimeout(timer);
  void session.draining.then(stop);
  void session.closed.then(stop);
}
