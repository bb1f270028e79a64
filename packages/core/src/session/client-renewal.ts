import { backoffDelay, DEFAULT_BACKOFF } from "../call/backoff.js";
import type { Frame } from "../wire/frame.js";
import { MIN_RENEWAL_INTERVAL_MS, readNotice, writeRenewal } from "../wire/credentials.js";
import type { RawGreeting } from "../wire/hello.js";
import type { ProvingHost } from "../transport/prover.js";

/**
 * Credentials are renewed when between one and two times this share of their lifetime is left: before the server drains
 * because of their expiry.
 */
const EARLY = 0.15;
/** The most of it in milliseconds, before it is doubled. */
const EARLY_MS = 120_000;
/** The longest time of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Renews a client's credentials during its session: before they expire, when the server asks, and after
 * `unauthenticated`.
 */
export class ClientRenewal {
  readonly #host: Pick<ProvingHost, "openLane">;
  /** Rejects if there are no credentials, or if they are too long. */
  readonly #ask: () => Promise<RawGreeting | undefined>;
  #timer: ReturnType<typeof setTimeout> | undefined = undefined;
  /**
   * Step of the renewal in progress: the application is asked for credentials, then the server decides. There is one
   * renewal at a time.
   */
  #step: "none" | "asking" | "deciding" = "none";
  /** The server has said that it takes them. */
  #possible = false;
  #failures = 0;
  /** When the application may be asked again, by the clock that is never set. */
  #nextAt: number = Number.NEGATIVE_INFINITY;
  #over = false;

  constructor(host: Pick<ProvingHost, "openLane">, ask: () => Promise<RawGreeting | undefined>) {
    this.#host = host;
    this.#ask = ask;
  }

  onFrame(frame: Frame): void {
    const notice = readNotice(frame);
    if (notice === undefined) return;
    this.#possible = true;
    if (notice.kind === "wanted") {
      this.#wait(Math.random() * notice.withinMs);
      return;
    }
    if (this.#step === "deciding") this.#rest(MIN_RENEWAL_INTERVAL_MS);
    const { leftMs } = notice;
    if (leftMs === undefined) clearTimeout(this.#timer);
    else this.#wait(leftMs - Math.min(EARLY_MS, leftMs * EARLY) * (1 + Math.random()));
  }

  /** A call has failed since its caller is not authenticated. */
  onUnauthenticated(): void {
    if (this.#possible && performance.now() >= this.#nextAt) void this.#renew();
  }

  stop(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  /** Asks after a time, and no sooner than it may. */
  #wait(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#over) return;
    const all = Math.max(ms, this.#nextAt - performance.now());
    const now = Math.min(all, MAX_TIMER_MS);
    this.#timer = setTimeout(() => (all > now ? this.#wait(all - now) : void this.#renew()), now);
    // If timers keep a process alive, as in Node, this one must not.
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** Called when the renewal is over; the next one may start only after this time. */
  #rest(ms: number): void {
    this.#step = "none";
    this.#nextAt = performance.now() + ms;
  }

  /** If the application's function fails it is called again, until the server ends the session. */
  async #renew(): Promise<void> {
    if (this.#step !== "none" || this.#over) return;
    this.#step = "asking";
    clearTimeout(this.#timer);
    try {
      const greeting = await this.#ask();
      if (this.#over) return;
      if (greeting === undefined) this.#rest(MIN_RENEWAL_INTERVAL_MS);
      else {
        this.#step = "deciding";
        this.#host.openLane()?.sendCredentials((out) => writeRenewal(out, greeting));
      }
      this.#failures = 0;
    } catch {
      this.#rest(backoffDelay(this.#failures++, { ...DEFAULT_BACKOFF, initialMs: 1000 }));
      this.#wait(0);
    }
  }
}
