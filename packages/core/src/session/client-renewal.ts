import { backoffDelay, DEFAULT_BACKOFF } from "../call/backoff.js";
import type { Frame } from "../wire/frame.js";
import { MIN_RENEWAL_INTERVAL_MS, readNotice, writeRenewal } from "../wire/credentials.js";
import type { RawGreeting } from "../wire/hello.js";
import type { ProvingHost } from "../transport/prover.js";

/**
 * Fraction of the credentials' lifetime. Credentials are renewed when between one and two times this fraction is left,
 * before the server drains the session.
 */
const EARLY = 0.15;
/** Upper bound of that fraction of the lifetime, in milliseconds. */
const EARLY_MS = 120_000;
/** Largest delay that `setTimeout` accepts, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Renews the credentials of a client during its session: before they expire, when the server demands it, and after a
 * call has failed with `unauthenticated`.
 */
export class ClientRenewal {
  readonly #host: Pick<ProvingHost, "openLane">;
  /**
   * Returns new credentials from the application. Rejects if the application's function fails or the credentials are
   * too long.
   */
  readonly #ask: () => Promise<RawGreeting | undefined>;
  #timer: ReturnType<typeof setTimeout> | undefined = undefined;
  /**
   * Step of the current renewal: "asking" the application for credentials, or waiting while the server is "deciding".
   */
  #step: "none" | "asking" | "deciding" = "none";
  /** Whether the server has announced that it accepts new credentials. */
  #possible = false;
  #failures = 0;
  /** Earliest time of the next renewal, in milliseconds of `performance.now()`. */
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

  onUnauthenticated(): void {
    if (this.#possible && performance.now() >= this.#nextAt) void this.#renew();
  }

  stop(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  /** Schedules the next renewal in `ms` milliseconds, but not before `#nextAt`. */
  #wait(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#over) return;
    const all = Math.max(ms, this.#nextAt - performance.now());
    const now = Math.min(all, MAX_TIMER_MS);
    this.#timer = setTimeout(() => (all > now ? this.#wait(all - now) : void this.#renew()), now);
    // In Node, this timer must not keep the process alive.
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** Ends the current renewal. The next one may start after `ms` milliseconds. */
  #rest(ms: number): void {
    this.#step = "none";
    this.#nextAt = performance.now() + ms;
  }

  /**
   * Gets new credentials and sends them. If the application's function fails, it is called again until the server ends
   * the session.
   */
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
