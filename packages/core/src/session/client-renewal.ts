import { backoffDelay, DEFAULT_BACKOFF } from "../backoff.js";
import type { Frame } from "../wire/frame.js";
import { readNotice, writeRenewal } from "../wire/credentials.js";
import type { RawGreeting } from "../wire/hello.js";
import type { RenewalHost } from "./late-renewal.js";

/** Share of the time that is left by which credentials are renewed early, up to twice as much: before the server drains for their expiry. */
const EARLY = 0.15;
/** The most of it in milliseconds, before it is doubled. */
const EARLY_MS = 120_000;
/** Milliseconds between two renewals for calls that failed with `unauthenticated`. */
const MIN_INTERVAL_MS = 5000;
/** The longest time of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Renews what a client proves itself with while its session goes on: before it expires, where the server wants it, and after `unauthenticated`. */
export class ClientRenewal {
  private readonly host: RenewalHost;
  /** Rejects where there are none, or too long ones. */
  private readonly ask: () => Promise<RawGreeting | undefined>;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;
  /** Whether a renewal is between its question and the server's answer: there is one at a time. */
  private underWay = false;
  /** The server has said that it takes them. */
  private possible = false;
  private failures = 0;
  private renewedAt: number = Number.NEGATIVE_INFINITY;
  private over = false;

  constructor(host: RenewalHost, ask: () => Promise<RawGreeting | undefined>) {
    this.host = host;
    this.ask = ask;
  }

  onFrame(frame: Frame): void {
    const notice = readNotice(frame);
    if (notice === undefined) return;
    this.possible = true;
    if (notice.kind === "wanted") {
      this.wait(Math.random() * notice.withinMs);
      return;
    }
    if (this.underWay) this.renewedAt = Date.now();
    this.underWay = false;
    this.failures = 0;
    const { leftMs } = notice;
    if (leftMs === undefined) clearTimeout(this.timer);
    else this.wait(leftMs - Math.min(EARLY_MS, leftMs * EARLY) * (1 + Math.random()));
  }

  /** A call has failed since its caller is not authenticated. */
  onUnauthenticated(): void {
    if (this.possible && Date.now() - this.renewedAt >= MIN_INTERVAL_MS) void this.renew();
  }

  stop(): void {
    this.over = true;
    clearTimeout(this.timer);
  }

  private wait(ms: number): void {
    clearTimeout(this.timer);
    if (this.over) return;
    const now = Math.min(ms, MAX_TIMER_MS);
    this.timer = setTimeout(() => (ms > now ? this.wait(ms - now) : void this.renew()), now);
    // Where timers keep a process alive (Node), this one must not.
    (this.timer as { unref?(): void }).unref?.();
  }

  /** Where the question fails it is asked again, until the server ends the session. */
  private async renew(): Promise<void> {
    if (this.underWay || this.over) return;
    this.underWay = true;
    clearTimeout(this.timer);
    try {
      const greeting = await this.ask();
      if (this.over) return;
      if (greeting === undefined) this.underWay = false;
      else this.host.openLane()?.sendCredentials((out) => writeRenewal(out, greeting));
    } catch {
      this.underWay = false;
      this.wait(backoffDelay(this.failures++, { ...DEFAULT_BACKOFF, initialMs: 1000 }));
    }
  }
}
