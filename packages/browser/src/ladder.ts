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

/** The first transport has worked for so long: when it is lost, waits begin with the shortest again. */
const STABLE_MS = 60_000;

/** Milliseconds between questions whether a session over the first transport still carries anything, in a page that is shown. */
const WATCH_MS = 15_000;
/** So many sessions in a row over the first transport that were lost, each before it had worked for `STABLE_MS`, are too many. */
const MOST_LOSSES = 2;

const NOTHING_BETTER: Error = new Error("there is no better transport");

/** Options of a ladder. */
export interface LadderOptions extends Pick<OpenOptions<Reached>, "url" | "candidates" | "afterMs"> {
  /** Default: `DEFAULT_RETRY`; `false`: what was taken stays in use for as long as its session lasts. */
  readonly retry?: Partial<Backoff> | false | undefined;
  /** Memory of the way to the server from before. */
  readonly memory?: Memory | undefined;
}

/**
 * The ways of one connection to its server, the best first. Each session takes the best that works at the time; while that is not the
 * first, those before it are tried again beside it, ever less often, and one takes its place once a session over it has answered.
 */
export class Ladder implements Way {
  inUse: TransportInUse | undefined = undefined;
  readonly #options: LadderOptions;
  readonly #backoff: Backoff | undefined;
  /** Index of the way in use. */
  #index = 0;
  /** Attempts to get back to a better way. */
  #attempts = 0;
  /** A session over the first transport has carried something. */
  #worked = false;
  /** Sessions over it in a row that were soon lost. */
  #losses = 0;
  /** Ways that are not tried next, and why. */
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

  /** Closes a session over the first transport that carries nothing, or stops to: the next is made over the fallback. */
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

  /** A session over the first transport has answered. How it ends says what the next is made over. */
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

  /** Waits until so many milliseconds are over, or `hurry` is called. Rejects when the signal fires. */
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

/** A session that has carried bytes both ways: some networks let a handshake through and nothing else. */
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
