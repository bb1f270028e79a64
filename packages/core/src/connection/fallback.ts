import { onAbort } from "../call/watch.js";
import { type Backoff, backoffDelay } from "../call/backoff.js";
import { deferred } from "../deferred.js";
import type { Session } from "../session/session.js";

/** Default delays between attempts to return to a better transport. */
const DEFAULT_RETRY: Backoff = { initialMs: 5000, maxMs: 300_000, factor: 2 };
/** If a session over the first transport lasts this many milliseconds, the delays start again from the first. */
const STABLE_MS = 60_000;

/** Error that ends the search for a better session. */
export const NOTHING_BETTER: Error = new Error("no other session is better than this one");

/** The transports at the start of the list that are skipped for a while, because they did not respond. */
export interface Skipped<R> {
  readonly count: number;
  readonly reason: R;
}

/** Storage for the transports to skip. Entries expire after a while. */
export interface FallbackMemory<R> {
  readonly skipped: Skipped<R> | undefined;
  remember(skipped: Skipped<R>): void;
  reset(): void;
}

/** Result of trying several transports: the one that was ready first. */
export interface Opened<T, R> {
  readonly value: T;
  /** Index of this transport in the list of those tried. */
  readonly index: number;
  /** Reason why an earlier transport was not used; undefined for the first one. */
  readonly reason: R | undefined;
  /**
   * Number of transports at the start of the list that will be skipped for a while, because they did not respond in
   * time. 0 if the network does not seem to be the reason.
   */
  readonly lateCount: number;
}

/** Options of `Fallback`. `R` is the type of the reason why a transport was not used. */
export interface FallbackSettings<R> {
  readonly memory: FallbackMemory<R>;
  /**
   * Delays between attempts to return to a better transport; `false` disables these attempts. Default: 5 s, doubled
   * each time up to 5 minutes.
   */
  readonly retry?: Partial<Backoff> | false | undefined;
}

/**
 * Chooses one of several transports to a server, such as QUIC and WebSocket. Each session uses the first one in the
 * list that works. Transports that did not respond are skipped for a while. While a later transport is in use, the
 * earlier ones are retried with growing delays.
 */
export class Fallback<R> {
  readonly #memory: FallbackMemory<R>;
  readonly #retry: Backoff | undefined;
  /** Number of attempts so far to return to a better transport. */
  #attempts = 0;
  /** Transports that the next session skips, regardless of `#memory`. */
  #skipNext: Skipped<R> | undefined = undefined;
  #endPause: () => void = () => {};

  constructor({ memory, retry }: FallbackSettings<R>) {
    this.#memory = memory;
    this.#retry = retry === false ? undefined : { ...DEFAULT_RETRY, ...retry };
  }

  /**
   * Opens the first transport that works. Resolves with it, its index in `candidates`, and the reasons why earlier ones
   * were not used.
   *
   * @param openFirst tries the given transports
   */
  async open<C, T>(
    candidates: readonly C[],
    openFirst: (candidates: readonly C[]) => Promise<Opened<T, R>>,
  ): Promise<{ readonly value: T; readonly index: number; readonly reasons: readonly R[] }> {
    const skipped = this.#skipNext ?? this.#memory.skipped;
    this.#skipNext = undefined;
    const from = Math.min(skipped?.count ?? 0, candidates.length - 1);
    try {
      const { value, index, reason, lateCount } = await openFirst(candidates.slice(from));
      if (lateCount > 0) this.#memory.remember({ reason: reason as R, count: from + lateCount });
      const reasons = [from > 0 ? skipped?.reason : undefined, reason];
      return { value, index: from + index, reasons: reasons.filter((r) => r !== undefined) };
    } catch (error) {
      // No transport works, so the skipped ones need not be worse.
      this.#memory.reset();
      throw error;
    }
  }

  /**
   * Calls `attempt`, with growing delays, until it opens a session over a better transport. Rejects when the signal
   * aborts, when `onFailure` throws, or at once if such attempts are disabled.
   *
   * @param onFailure called with the error of each failed attempt
   * @param onPause called with the milliseconds of each delay, and with undefined at its end
   */
  async retry<T>(
    attempt: () => Promise<T>,
    signal: AbortSignal,
    onFailure: (error: unknown) => void,
    onPause?: (ms?: number) => void,
  ): Promise<T> {
    if (this.#retry === undefined) throw NOTHING_BETTER;
    for (;;) {
      const ms = Math.round(backoffDelay(this.#attempts++, this.#retry));
      onPause?.(ms);
      await this.pause(ms, signal).finally(() => onPause?.());
      try {
        return await attempt();
      } catch (error) {
        signal.throwIfAborted();
        onFailure(error);
      }
    }
  }

  /** Makes the next session skip transports that can be opened but do not work. */
  skip(skipped: Skipped<R>): void {
    this.#skipNext = skipped;
    this.#memory.remember(skipped);
  }

  /**
   * Called when the peer has responded on a session over the first transport. Resolves when that session ends: with
   * true if it lasted for at least a minute.
   */
  async noteAnswer({ closed }: Pick<Session, "closed">): Promise<boolean> {
    const startedAt = Date.now();
    this.#memory.reset();
    await closed;
    const hasLasted = Date.now() - startedAt >= STABLE_MS;
    if (hasLasted) this.#attempts = 0;
    return hasLasted;
  }

  /** Retries all transports at once, because the network has changed. */
  retryNow(): void {
    this.#attempts = 0;
    this.#skipNext = undefined;
    this.#memory.reset();
    this.#endPause();
  }

  /**
   * Resolves after `ms` milliseconds, or when `retryNow` is called. Rejects when the signal aborts. The timer does not
   * keep the process alive.
   */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = deferred<void>();
    this.#endPause = resolve;
    const timer = setTimeout(resolve, ms);
    (timer as { unref?(): void }).unref?.();
    const stopWatching = onAbort(signal, resolve);
    await promise;
    clearTimeout(timer);
    stopWatching();
    signal.throwIfAborted();
  }
}
