import { type Backoff, Fallback, NOTHING_BETTER } from "@quicrpc/core/internal";
import type { Session } from "@quicrpc/core";
import type { PageConnectStrategy, RunTransport } from "./reconnecting.js";
import { type Candidate, type OpenOptions, openFirst } from "./open.js";
import type { Memory } from "./memory.js";
import { pingAnswered, NO_ANSWER } from "./page.js";
import type { BrowserTransport, Reached, TransportInUse } from "./transport.js";
import { reasonOf } from "./unreached.js";

/**
 * Milliseconds between checks whether a session over the first transport still works. Only while the page is visible.
 */
const WATCH_MS = 15_000;
/**
 * Number of consecutive sessions over the first transport that are lost within a minute each, after which that
 * transport counts as failing.
 */
const MOST_LOSSES = 2;

export interface PageFallbackOptions extends Pick<OpenOptions<Reached>, "url" | "candidates" | "afterMs"> {
  /**
   * Pauses between attempts to return to a preferred transport. `false`: the transport in use is kept for as long as
   * its session lasts.
   */
  readonly retry?: Partial<Backoff> | false | undefined;
  readonly memory: Memory;
}

/**
 * Selects the transport of each session of a page: the most preferred one that works. Returns to a more preferred
 * transport once a session over it has answered. Closes a session over the first transport that carries no data, and
 * uses the fallback for the next session.
 */
export class PageFallback implements PageConnectStrategy {
  inUse: TransportInUse | undefined = undefined;
  readonly #options: PageFallbackOptions;
  readonly #fallback: Fallback<string>;
  #index = 0;
  /**
   * True if a session over the first transport has answered. If it does not answer later, that says little about the
   * network.
   */
  #hasWorked = false;
  /** Number of consecutive sessions over the first transport that were soon lost. */
  #losses = 0;

  constructor(options: PageFallbackOptions) {
    this.#options = options;
    this.#fallback = new Fallback(options);
  }

  async open(signal: AbortSignal, timeoutMs: number): Promise<Reached> {
    const options = this.#options;
    const worked = this.#hasWorked;
    const usable = options.candidates.filter(({ isRefused }) => isRefused !== true);
    // The others are the last. They are tried for their errors.
    const refused = options.candidates.slice(usable.length);
    const {
      value: reached,
      index,
      reasons,
    } = await this.#fallback.open(usable, (tried) =>
      openFirst({ ...options, candidates: tried.concat(refused), worked, timeoutMs, signal }),
    );
    this.#use(index, reasons);
    return reached;
  }

  async improve(
    run: RunTransport,
    timeoutMs: number,
    session: Session<BrowserTransport>,
    signal: AbortSignal,
  ): Promise<Session<BrowserTransport>> {
    const fallback = this.#fallback;
    if (this.#index === 0) return this.#prove(session, signal);
    const options = this.#options;
    const better = options.candidates
      .slice(0, this.#index)
      .filter(({ kind }) => kind !== "webtransport" || globalThis.WebTransport !== undefined);
    if (better.length === 0) throw NOTHING_BETTER;
    const candidates = better.map((candidate) => answeringSession(candidate, run));
    const {
      value: betterSession,
      index,
      reason,
    } = await fallback.retry(
      () => openFirst({ ...options, candidates, timeoutMs, signal }),
      signal,
      (error) => this.#report({ reason: `tried again: ${reasonOf(error as Error, options.url)}` }),
      (ms) => this.#report({ retryAt: ms === undefined ? undefined : Date.now() + ms }),
    );
    this.#use(options.candidates.indexOf(better[index] as Candidate<Reached>), reason === undefined ? [] : [reason]);
    if (this.#index === 0) void this.#noteAnswer(betterSession);
    return betterSession;
  }

  retryNow(): void {
    // Those of the network before.
    this.#losses = 0;
    this.#fallback.retryNow();
  }

  #use(index: number, reasons: readonly string[]): void {
    this.#index = index;
    const { kind } = this.#options.candidates[index] as Candidate<Reached>;
    this.inUse = { kind, reason: reasons.join("; ") || undefined, retryAt: undefined };
  }

  #report(news: Partial<TransportInUse>): void {
    this.inUse = { ...(this.inUse as TransportInUse), ...news };
  }

  /**
   * Closes a session over the first transport if it carries no data, or stops doing so. The next session uses the
   * fallback.
   */
  async #prove(session: Session<BrowserTransport>, signal: AbortSignal): Promise<never> {
    if (this.#options.candidates.length === 1) throw NOTHING_BETTER;
    let answered = await pingAnswered(session, "it was opened");
    if (answered === false) this.#skipFirst("WebTransport opened a session that carried nothing");
    if (answered !== true) throw NOTHING_BETTER;
    void this.#noteAnswer(session);
    while (answered === true) {
      await this.#fallback.pause(WATCH_MS, signal);
      // Timers of a hidden page run late, so the page would consider its sessions silent.
      if (globalThis.document?.visibilityState === "hidden") continue;
      answered = await pingAnswered(session, "it was asked whether it still works");
    }
    if (answered === false) this.#skipFirst("WebTransport's session stopped carrying anything");
    throw NOTHING_BETTER;
  }

  /**
   * Notes that a session over the first transport has answered. How long that session lasts decides which transport the
   * next session uses.
   */
  async #noteAnswer(session: Session<BrowserTransport>): Promise<void> {
    this.#hasWorked = true;
    const hasLasted = await this.#fallback.noteAnswer(session);
    const { closeCode } = await session.closed;
    if (hasLasted) {
      this.#losses = 0;
    } else if ((closeCode === undefined || closeCode === NO_ANSWER) && ++this.#losses >= MOST_LOSSES) {
      this.#skipFirst(`WebTransport's sessions were lost within a minute, ${this.#losses} times in a row`);
      this.#losses = 0;
    }
  }

  #skipFirst(reason: string): void {
    this.#fallback.skip({ reason, count: 1 });
  }
}

/**
 * Opens a session and checks that it carries data in both directions, because some networks permit only the handshake.
 */
function answeringSession(candidate: Candidate<Reached>, run: RunTransport): Candidate<Session<BrowserTransport>> {
  return {
    ...candidate,
    async open(signal) {
      const session = await run(await candidate.open(signal));
      await session.ping();
      return session;
    },
  };
}
