import { type Backoff, backoffDelay, onAbort } from "@quicrpc/core/transport";
import type { Session } from "@quicrpc/core";
import type { RunTransport, Way } from "./heal.js";
import { type Candidate, type OpenOptions, openFirst } from "./open.js";
import type { Known, Memory } from "./memory.js";
import { answers, NO_ANSWER } from "./page.js";
import type { BrowserTransport, Reached, TransportInUse } from "./transport.js";
import { reasonOf } from "./unreached.js";

/** When the first transport is tried again while its fallback is in use. */
const DEFAULT_RETRY: Backoff = { initialMs: 5000, maxMs: 300_000, factor: 2 };

/** After the first transport has worked for this long, retries begin with the shortest wait again when it is lost. */
const STABLE_MS = 60_000;

/** Milliseconds between checks whether a session over the first transport still works, in a visible page. */
const WATCH_MS = 15_000;
/**
 * Number of consecutive sessions over the first transport, each lost before `STABLE_MS`, after which it counts as
 * failing.
 */
const MOST_LOSSES = 2;

const NOTHING_BETTER: Error = new Error("there is no better transport");

/** Options of a ladder. */
export interface LadderOptions extends Pick<OpenOptions<Reached>, "url" | "candidates" | "afterMs"> {
  /** Default: `DEFAULT_RETRY`; `false`: a transport in use is kept as long as its session lasts. */
  readonly retry?: Partial<Backoff> | false | undefined;
  /** Knowledge from earlier connections to the server. */
  readonly memory?: Memory | undefined;
}

/**
 * The transports of one connection, the best first. Each session uses the best one that works at the time. While that
 * is not the first, the better ones are retried in the background at growing intervals, and one replaces it once a
 * session over it has answered.
 */
export class Ladder implements Way {
  inUse: TransportInUse | undefined = undefined;
  readonly #options: LadderOptions;
  readonly #backoff: Backoff | undefined;
  /** Index of the transport in use. */
  #index = 0;
  /** Number of attempts to return to a better transport. */
  #attempts = 0;
  /** Whether a session over the first transport has carried data. */
  #worked = false;
  /** Number of consecutive sessions over it that were soon lost. */
  #losses = 0;
  /** Transports that are skipped next, and the reason. */
  #avoided: Known | undefined = undefined;
  #wake: () => void = () => {};

  constructor(options: LadderOptions) {
    const { retry } = options;
    this.#options = options;
    this.#backoff = retry === false ? undefined : { ...DEFAULT_RETRY, ...retry };
  }

  async open(signal: AbortSignal, timeoutMs: number): Promise<Reached> {
    const { candidates, memory, ...options } = this.#options;
    const avoided = this.#avoided ?? memory?.known;
    const usable = candidates.filter(({ isRefused }) => isRefused !== true);
    const from = Math.min(avoided?.ways ?? 0, usable.length - 1);
    this.#avoided = undefined;
    const worked = this.#worked;
    try {
      const opened = await openFirst({ ...options, candidates: candidates.slice(from), worked, timeoutMs, signal });
      const { made, reason, late } = opened;
      if (late > 0 && !worked) memory?.remember({ reason: reason as string, ways: from + late });
      const reasons = [from > 0 ? avoided?.reason : undefined, reason].filter((each) => each !== undefined);
      this.#take(from + opened.index, reasons.join("; "));
      return made;
    } catch (error) {
      // Where the others fail as well, the first may be as good.
      memory?.forget();
      throw error;
    }
  }

  async improve(
    run: RunTransport,
    timeoutMs: number,
    session: Session<BrowserTransport>,
    signal: AbortSignal,
  ): Promise<Session<BrowserTransport>> {
    if (this.#index === 0) return this.#prove(session, signal);
    const backoff = this.#backoff;
    const { candidates, ...options } = this.#options;
    const above = candidates
      .slice(0, this.#index)
      .filter(({ kind }) => kind !== "webtransport" || globalThis.WebTransport !== undefined);
    const better = above.map((candidate) => answering(candidate, run));
    if (backoff === undefined || better.length === 0) throw NOTHING_BETTER;
    for (;;) {
      await this.#wait(Math.round(backoffDelay(this.#attempts++, backoff)), signal);
      try {
        const { made, index, reason = "" } = await openFirst({ ...options, candidates: better, timeoutMs, signal });
        this.#take(candidates.indexOf(above[index] as Candidate<Reached>), reason);
        if (this.#index === 0) void this.#works(made);
        return made;
      } catch (error) {
        signal.throwIfAborted();
        this.#tell(`tried again: ${reasonOf(error as Error, this.#options.url)}`);
      }
    }
  }

  hurry(): void {
    this.#attempts = 0;
    // Those of the network before.
    this.#losses = 0;
    this.#avoided = undefined;
    this.#options.memory?.forget();
    this.#wake();
  }

  #take(index: number, reason: string): void {
    const { kind } = this.#options.candidates[index] as Candidate<Reached>;
    this.#index = index;
    this.inUse = { kind, reason: reason === "" ? undefined : reason };
  }

  /**
   * Closes a session over the first transport that carries no data, or stops doing so: the next session uses the
   * fallback.
   */
  async #prove(session: Session<BrowserTransport>, signal: AbortSignal): Promise<never> {
    if (this.#options.candidates.length === 1) throw NOTHING_BETTER;
    let answered = await answers(session, "it was opened");
    if (answered === false) this.#avoid("WebTransport opened a session that carried nothing");
    if (answered !== true) throw NOTHING_BETTER;
    void this.#works(session);
    while (answered === true) {
      await this.#pause(WATCH_MS, signal);
      // Timers of a page that is hidden run late, and would find its sessions silent.
      if (globalThis.document?.visibilityState === "hidden") continue;
      answered = await answers(session, "it was asked whether it still works");
    }
    if (answered === false) this.#avoid("WebTransport's session stopped carrying anything");
    throw NOTHING_BETTER;
  }

  /** Called when a session over the first transport has answered. Its end decides which transport the next one uses. */
  async #works(session: Session<BrowserTransport>): Promise<void> {
    const since = Date.now();
    this.#worked = true;
    this.#options.memory?.forget();
    const { closeCode } = await session.closed;
    if (Date.now() - since >= STABLE_MS) {
      this.#attempts = 0;
      this.#losses = 0;
    } else if ((closeCode === undefined || closeCode === NO_ANSWER) && ++this.#losses >= MOST_LOSSES) {
      this.#avoid(`WebTransport's sessions were lost within a minute, ${this.#losses} times in a row`);
      this.#losses = 0;
    }
  }

  #avoid(reason: string): void {
    this.#avoided = { reason, ways: 1 };
    this.#options.memory?.remember(this.#avoided);
  }

  #tell(reason: string | undefined, retryAt?: number): void {
    if (this.inUse === undefined) return;
    const { kind, reason: before } = this.inUse;
    this.inUse = { kind, reason: reason ?? before, ...(retryAt !== undefined && { retryAt }) };
  }

  /** Waits until the next attempt is due, or `hurry` is called. Rejects when the signal fires. */
  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    this.#tell(undefined, Date.now() + ms);
    await this.#pause(ms, signal).finally(() => this.#tell(undefined));
  }

  /** Waits for this many milliseconds, or until `hurry` is called. Rejects when the signal fires. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    let end!: () => void;
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#wake = end;
    const timer = setTimeout(end, ms);
    const forget = onAbort(signal, end);
    await over;
    clearTimeout(timer);
    forget();
    signal.throwIfAborted();
  }
}

/** Opens a session and checks that it carries bytes both ways: some networks let only a handshake through. */
function answering(candidate: Candidate<Reached>, run: RunTransport): Candidate<Session<BrowserTransport>> {
  return {
    kind: candidate.kind,
    name: candidate.name,
    async open(signal) {
      const session = await run(await candidate.open(signal));
      await session.ping();
      return session;
    },
  };
}
