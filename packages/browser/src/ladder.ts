import { type Backoff, backoffDelay } from "@quicrpc/core/transport";
import type { Session } from "@quicrpc/core";
import type { RunTransport, Way } from "./heal.js";
import { inTime } from "./in-time.js";
import { type OpenOptions, openTransport } from "./open.js";
import { answers } from "./page.js";
import type { BrowserTransport, TransportInUse } from "./transport.js";
import { reasonOf } from "./unreached.js";

/** When the first transport is tried again while its fallback is in use. */
const DEFAULT_RETRY: Backoff = { initialMs: 5000, maxMs: 300_000, factor: 2 };

/** The first transport has worked for so long: when it is lost, waits begin with the shortest again. */
const STABLE_MS = 60_000;

const NOTHING_BETTER: Error = new Error("there is no better transport");

/** Options of a ladder. */
export interface LadderOptions extends Pick<OpenOptions, "url" | "first" | "fallback"> {
  /** Default: `DEFAULT_RETRY`; `false`: the fallback stays in use for as long as its session lasts. */
  readonly retry?: Partial<Backoff> | false | undefined;
}

/**
 * The transports of one connection, the best first. Each session takes the best that works at the time; while that is the
 * fallback, the first is tried again beside it, ever less often, and takes its place once a session over it has answered.
 */
export class Ladder implements Way {
  inUse: TransportInUse | undefined;
  private readonly options: LadderOptions;
  private readonly backoff: Backoff | undefined;
  /** Attempts to get back to the first transport. */
  private attempts = 0;
  /** When the latest session over the first transport that works was found to work. */
  private worksSince: number | undefined;
  /** Why the fallback alone is tried next, where the first opens sessions that carry nothing. */
  private mute: string | undefined;
  private wake: () => void = () => {};

  constructor(options: LadderOptions) {
    const { retry } = options;
    this.options = options;
    this.backoff = retry === false ? undefined : { ...DEFAULT_RETRY, ...retry };
  }

  async open(signal: AbortSignal, timeoutMs: number): Promise<BrowserTransport> {
    const { url, first, fallback } = this.options;
    const worked = this.worksSince !== undefined;
    if (worked && this.isFirst && Date.now() - (this.worksSince as number) >= STABLE_MS) this.attempts = 0;
    const { mute } = this;
    this.mute = undefined;
    const only = mute === undefined || fallback === undefined ? undefined : { first: fallback, fallback: undefined };
    const { kind, reason, transport } = await openTransport({
      ...(only ?? { first, fallback }),
      url,
      worked,
      timeoutMs,
      signal,
    });
    this.inUse = { kind, reason: only === undefined ? reason : mute };
    return transport;
  }

  async improve(
    run: RunTransport,
    timeoutMs: number,
    session: Session<BrowserTransport>,
    signal: AbortSignal,
  ): Promise<Session<BrowserTransport>> {
    if (this.isFirst) return this.prove(session);
    const backoff = globalThis.WebTransport === undefined ? undefined : this.backoff;
    if (backoff === undefined) throw NOTHING_BETTER;
    for (;;) {
      await this.wait(Math.round(backoffDelay(this.attempts++, backoff)), signal);
      try {
        const { first, url } = this.options;
        const better = await inTime((signal) => answering(first.open, run, signal), signal, timeoutMs, url);
        this.inUse = { kind: first.kind, reason: undefined };
        this.worksSince = Date.now();
        return better;
      } catch (error) {
        signal.throwIfAborted();
        this.tell(`tried again: ${reasonOf(error as Error, this.options.url)}`);
      }
    }
  }

  hurry(): void {
    this.attempts = 0;
    this.wake();
  }

  private get isFirst(): boolean {
    return this.inUse?.kind === this.options.first.kind;
  }

  /** Closes a session over the first transport that carries nothing: the next is made over the fallback. */
  private async prove(session: Session<BrowserTransport>): Promise<never> {
    const { fallback } = this.options;
    const answered = fallback === undefined ? undefined : await answers(session, "it was opened");
    if (answered === true) this.worksSince = Date.now();
    if (answered === false) this.mute = "WebTransport opened a session that carried nothing";
    throw NOTHING_BETTER;
  }

  private tell(reason: string | undefined, retryAt?: number): void {
    if (this.inUse === undefined) return;
    const { kind, reason: before } = this.inUse;
    this.inUse = { kind, reason: reason ?? before, ...(retryAt !== undefined && { retryAt }) };
  }

  /** Until so many milliseconds are over, or `hurry` is called. Rejects when the signal fires. */
  private async wait(ms: number, signal: AbortSignal): Promise<void> {
    this.tell(undefined, Date.now() + ms);
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
      this.wake = resolve;
      signal.addEventListener("abort", () => resolve());
    });
    clearTimeout(timer);
    this.tell(undefined);
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
