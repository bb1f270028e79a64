import { type Backoff, backoffDelay } from "@quicrpc/core/transport";
import type { Session } from "@quicrpc/core";
import type { RunTransport, Way } from "./heal.js";
import { inTime } from "./in-time.js";
import { type OpenOptions, openTransport } from "./open.js";
import type { Memory } from "./memory.js";
import { answers, NO_ANSWER } from "./page.js";
import type { BrowserTransport, TransportInUse } from "./transport.js";
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
export interface LadderOptions extends Pick<OpenOptions, "url" | "first" | "fallback"> {
  /** Default: `DEFAULT_RETRY`; `false`: the fallback stays in use for as long as its session lasts. */
  readonly retry?: Partial<Backoff> | false | undefined;
  /** Memory of the way to the server from before. */
  readonly memory?: Memory | undefined;
}

/**
 * The transports of one connection, the best first. Each session takes the best that works at the time; while that is the
 * fallback, the first is tried again beside it, ever less often, and takes its place once a session over it has answered.
 */
export class Ladder implements Way {
  inUse: TransportInUse | undefined = undefined;
  private readonly options: LadderOptions;
  private readonly backoff: Backoff | undefined;
  /** Attempts to get back to the first transport. */
  private attempts = 0;
  /** A session over the first transport has carried something. */
  private worked = false;
  /** Sessions over it in a row that were soon lost. */
  private losses = 0;
  /** Why the fallback alone is tried next. */
  private avoided: string | undefined = undefined;
  private wake: () => void = () => {};

  constructor(options: LadderOptions) {
    const { retry } = options;
    this.options = options;
    this.backoff = retry === false ? undefined : { ...DEFAULT_RETRY, ...retry };
  }

  async open(signal: AbortSignal, timeoutMs: number): Promise<BrowserTransport> {
    const { url, first, fallback, memory } = this.options;
    const avoided = fallback === undefined ? undefined : (this.avoided ?? memory?.reason);
    this.avoided = undefined;
    const { worked } = this;
    try {
      const { kind, reason, transport, late } = await openTransport({
        ...(avoided !== undefined && fallback !== undefined
          ? { first: fallback, fallback: undefined }
          : { first, fallback }),
        url,
        worked,
        timeoutMs,
        signal,
      });
      this.inUse = { kind, reason: avoided ?? reason };
      if (reason !== undefined && late && !worked) memory?.remember(reason);
      return transport;
    } catch (error) {
      // Where the fallback fails as well, the first may be as good.
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
    if (this.isFirst) return this.prove(session, signal);
    const backoff = globalThis.WebTransport === undefined ? undefined : this.backoff;
    if (backoff === undefined) throw NOTHING_BETTER;
    for (;;) {
      await this.wait(Math.round(backoffDelay(this.attempts++, backoff)), signal);
      try {
        const { first, url } = this.options;
        const better = await inTime((signal) => answering(first.open, run, signal), signal, timeoutMs, url);
        this.inUse = { kind: first.kind, reason: undefined };
        void this.works(better);
        return better;
      } catch (error) {
        signal.throwIfAborted();
        this.tell(`tried again: ${reasonOf(error as Error, this.options.url)}`);
      }
    }
  }

  hurry(): void {
    this.attempts = 0;
    this.options.memory?.forget();
    this.wake();
  }

  private get isFirst(): boolean {
    return this.inUse?.kind === this.options.first.kind;
  }

  /** Closes a session over the first transport that carries nothing, or stops to: the next is made over the fallback. */
  private async prove(session: Session<BrowserTransport>, signal: AbortSignal): Promise<never> {
    if (this.options.fallback === undefined) throw NOTHING_BETTER;
    let answered = await answers(session, "it was opened");
    if (answered === false) this.avoid("WebTransport opened a session that carried nothing");
    if (answered !== true) throw NOTHING_BETTER;
    void this.works(session);
    while (answered === true) {
      await this.pause(WATCH_MS, signal);
      // Timers of a page that is hidden run late, and would find its sessions silent.
      if (globalThis.document?.visibilityState === "hidden") continue;
      answered = await answers(session, "it was asked whether it still works");
    }
    if (answered === false) this.avoid("WebTransport's session stopped carrying anything");
    throw NOTHING_BETTER;
  }

  /** A session over the first transport has answered. How it ends says what the next is made over. */
  private async works(session: Session<BrowserTransport>): Promise<void> {
    const since = Date.now();
    this.worked = true;
    this.options.memory?.forget();
    const { closeCode } = await session.closed;
    if (Date.now() - since >= STABLE_MS) {
      this.attempts = 0;
      this.losses = 0;
    } else if ((closeCode === undefined || closeCode === NO_ANSWER) && ++this.losses >= MOST_LOSSES) {
      this.avoid(`WebTransport's sessions were lost within a minute, ${this.losses} times in a row`);
      this.losses = 0;
    }
  }

  private avoid(reason: string): void {
    this.avoided = reason;
    this.options.memory?.remember(reason);
  }

  private tell(reason: string | undefined, retryAt?: number): void {
    if (this.inUse === undefined) return;
    const { kind, reason: before } = this.inUse;
    this.inUse = { kind, reason: reason ?? before, ...(retryAt !== undefined && { retryAt }) };
  }

  /** Until the next attempt is due, or `hurry` is called. Rejects when the signal fires. */
  private async wait(ms: number, signal: AbortSignal): Promise<void> {
    this.tell(undefined, Date.now() + ms);
    await this.pause(ms, signal).finally(() => this.tell(undefined));
  }

  /** Until so many milliseconds are over, or `hurry` is called. Rejects when the signal fires. */
  private async pause(ms: number, signal: AbortSignal): Promise<void> {
    let end!: () => void;
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.wake = end;
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    await over;
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    signal.throwIfAborted();
  }
}

/** A session that has carried bytes both ways: some networks let a handshake through and nothing else. */
async function answering(
  open: (signal: AbortSignal) => Promise<BrowserTransport>,
  run: RunTransport,
  signal: AbortSignal,
): Promise<Session<BrowserTransport>> {
  const session = await run(await open(signal));
  await session.ping();
  return session;
}
