import { type Backoff, type FallbackMemory, type Opened, race, type Skipped } from "@quicrpc/core/internal";
import { type Session, TransportError } from "@quicrpc/core";
import { isPermanent } from "../permanent.js";
import { isMissingEngine } from "../transport/failure.js";

/** Options of the fallback: another URL of the same server, and when to use it. */
export interface FallbackOptions {
  /** The fallback URL, such as "wss://api.example:4433". It must need neither UDP nor the native engine. */
  readonly url: string | URL;
  /** Milliseconds to wait for the first URL before the fallback is dialled as well. Default 1500. */
  readonly afterMs?: number;
  /**
   * Milliseconds for which new sessions use the fallback at once after the first URL did not respond. Default: 600,000
   * (10 minutes).
   */
  readonly rememberMs?: number;
  /**
   * Pauses between attempts to return to the first URL while a session uses the fallback. Once a session over the first
   * URL works, it receives all new calls; calls in progress finish over the fallback. `false` disables these attempts.
   * Default: 5 s at first, doubling up to 5 minutes.
   */
  readonly retry?: Partial<Backoff> | false;
  /** Called with the reason whenever a session uses the fallback. Default: none. */
  readonly onFallback?: (reason: Error) => void;
}

export type DialOnce = (signal: AbortSignal) => Promise<Session>;

const AFTER_MS = 1500;
const REMEMBER_MS = 600_000;

/**
 * Creates a session with the first of several dial functions that succeeds. Starts the next function as soon as the
 * previous one has failed or has not succeeded within `afterMs`. Rejects at once on a permanent failure, such as an
 * untrusted certificate.
 */
export async function dialFirst(
  ways: readonly DialOnce[],
  { afterMs = AFTER_MS }: FallbackOptions,
  signal: AbortSignal,
): Promise<Opened<Session, Error>> {
  const { value, index, failures } = await race({
    openers: ways,
    afterMs,
    signal,
    isFinal: (error) => !isMissingEngine(error as Error) && isPermanent(error as Error),
    dispose: (session) => void session.close(),
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw combinedError((error as AggregateError).errors as Error[]);
  });
  const [loss] = failures;
  const lateCount = loss?.late === true ? 1 : 0;
  const reason = loss && (loss.late ? new NoAnswerError(afterMs) : (loss.error as Error));
  return { value, index, reason, lateCount };
}

/** Remembers for a limited time that the first URL did not answer, so that new sessions use the fallback at once. */
export class FallbackTimer implements FallbackMemory<Error> {
  private readonly rememberMs: number;
  private known: Skipped<Error> | undefined = undefined;
  private until = 0;

  constructor(rememberMs: number = REMEMBER_MS) {
    this.rememberMs = rememberMs;
  }

  get skipped(): Skipped<Error> | undefined {
    return performance.now() < this.until ? this.known : undefined;
  }

  remember(skipped: Skipped<Error>): void {
    this.known = skipped;
    this.until = performance.now() + this.rememberMs;
  }

  reset(): void {
    this.until = 0;
  }
}

class NoAnswerError extends Error {
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
