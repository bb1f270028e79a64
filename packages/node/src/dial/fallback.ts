import { type Backoff, guarded, race } from "@quicrpc/core/transport";
import { type Session, TransportError } from "@quicrpc/core";
import { isPermanent } from "../permanent.js";
import { isMissingEngine } from "../transport/failure.js";

/** Another URL of the same server, and when to use it. */
export interface FallbackOptions {
  /** The other URL, which needs neither UDP nor the native engine, such as "wss://api.example:4433". */
  readonly url: string | URL;
  /** Milliseconds to try the first URL alone. Default 1500. */
  readonly afterMs?: number;
  /**
   * Milliseconds for which new sessions use the fallback directly after the first URL did not respond. Default 10
   * minutes.
   */
  readonly rememberMs?: number;
  /**
   * Pauses between attempts to return to the first URL while a session is over the fallback. New calls go to the session over the first URL once it has
   * answered; those in progress finish over the fallback. `false`: none are made. Default: 5 s at first, twice as long each time, 5 minutes at most.
   */
  readonly retry?: Partial<Backoff> | false;
  /** Called with the reason whenever a session uses the fallback. Default: none. */
  readonly onFallback?: (reason: Error) => void;
}

/** Creates a session. Rejects when the signal fires. */
export type DialOnce = (signal: AbortSignal) => Promise<Session>;

const AFTER_MS = 1500;
const REMEMBER_MS = 600_000;

/** The two ways to reach one server. */
export interface DialStrategies {
  readonly first: DialOnce;
  readonly fallback: DialOnce;
  /** Called with exceptions of the application's hook. */
  readonly onError: (error: unknown) => void;
}

/**
 * Creates each session with the first of two ways, or with the fallback, which starts as soon as the first has failed
 * or has not responded for a while. The session that is ready first wins. A permanent failure, such as an untrusted
 * certificate, does not start the fallback.
 */
export class FallbackDialler {
  private readonly strategies: DialStrategies;
  private readonly options: FallbackOptions;
  private readonly onFallback: (reason: Error) => void;
  /** Set after the first URL did not respond, until when it is not tried. */
  private avoidFirst: { readonly reason: Error; readonly until: number } | undefined = undefined;
  private readonly fallbackSessions: WeakSet<Session> = new WeakSet();

  constructor(strategies: DialStrategies, options: FallbackOptions) {
    this.strategies = strategies;
    this.options = options;
    this.onFallback = guarded(options.onFallback ?? ((): void => {}), strategies.onError);
  }

  async dial(signal: AbortSignal): Promise<Session> {
    const { avoidFirst } = this;
    this.avoidFirst = undefined;
    if (avoidFirst === undefined || performance.now() >= avoidFirst.until) return this.race(signal);
    const session = await this.dialFallback(signal);
    // Only while the fallback works: else the first may be as good.
    this.avoidFirst = avoidFirst;
    this.onFallback(avoidFirst.reason);
    return session;
  }

  /** Whether a session was made over the fallback. */
  isFallback(session: Session): boolean {
    return this.fallbackSessions.has(session);
  }

  /** Notes that the first way works again. */
  forget(): void {
    this.avoidFirst = undefined;
  }

  private async dialFallback(signal: AbortSignal): Promise<Session> {
    const session = await this.strategies.fallback(signal);
    this.fallbackSessions.add(session);
    return session;
  }

  private async race(signal: AbortSignal): Promise<Session> {
    const { afterMs = AFTER_MS } = this.options;
    const { made, losses } = await race({
      ways: [this.strategies.first, (raceSignal) => this.dialFallback(raceSignal)],
      afterMs,
      signal,
      isFinal: (error) => !isMissingEngine(error as Error) && isPermanent(error as Error),
      dispose: (session) => void session.close(),
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw combinedError((error as AggregateError).errors as Error[]);
    });
    const [loss] = losses;
    if (loss !== undefined) this.noteFallback(loss.late ? new NoAnswer(afterMs) : (loss.error as Error));
    return made;
  }

  private noteFallback(reason: Error): void {
    const { rememberMs = REMEMBER_MS } = this.options;
    // An immediate failure does not delay the next attempt either.
    if (reason instanceof NoAnswer) this.avoidFirst = { reason, until: performance.now() + rememberMs };
    this.onFallback(reason);
  }
}

class NoAnswer extends Error {
  constructor(afterMs: number) {
    super(`no answer within ${afterMs} ms: UDP may be blocked`);
  }
}

function combinedError([first, fallback]: readonly Error[]): unknown {
  if (!(first instanceof TransportError) || !(fallback instanceof Error)) return first;
  const { code, url, message, hint } = first;
  const text = `${message}; the fallback failed too: ${fallback.message}`;
  return new TransportError({ code, url, message: text, hint, cause: new AggregateError([first, fallback], text) });
}
