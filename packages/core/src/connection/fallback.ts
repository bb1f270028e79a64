import { onAbort } from "../call/watch.js";
import { type Backoff, backoffDelay } from "../call/backoff.js";
import { deferred } from "../deferred.js";
import type { Session } from "../session/session.js";

/** Pauses between attempts to return to a better transport. */
const DEFAULT_RETRY: Backoff = { initialMs: 5000, maxMs: 300_000, factor: 2 };
/** Sessions over the first transport that last this many milliseconds reset those pauses. */
const STABLE_MS = 60_000;

/** Ends a search for a better session. */
export const NOTHING_BETTER: Error = new Error("no other session is better than this one");

/** The first transports to a server, which are not tried for a while because they did not answer. */
export interface Skipped<R> {
  readonly count: number;
  readonly reason: R;
}

/** Remembers which transports to a server are skipped, and forgets it after a while. */
export interface FallbackMemory<R> {
  readonly skipped: Skipped<R> | undefined;
  remember(skipped: Skipped<R>): void;
  reset(): void;
}

/** The transport that was ready first. */
export interface Opened<T, R> {
  readonly made: T;
  /** Its index in the transports that were to be tried. */
  readonly index: number;
  /** Why it is not an earlier one; undefined for the first. */
  readonly reason: R | undefined;
  /**
   * Number of transports up to the last one that had not answered when the next was tried. They are skipped for a while; 0 if their silence
   * says nothing about the network.
   */
  readonly late: number;
}

/** Options of a `Fallback`. `R` says why a transport was not taken. */
export interface FallbackOptions<R> {
  readonly memory: FallbackMemory<R>;
  /** Pauses between attempts to return to a better transport; `false`: there are none. Default: 5 s, doubled up to 5 minutes. */
  readonly retry?: Partial<Backoff> | false | undefined;
}

/**
 * Chooses among several transports to one server. Each session uses the best one that works at the time; the first ones are skipped for a
 * while after they did not answer. While a worse one is in use, the better ones are tried again with growing pauses.
 */
export class Fallback<R> {
  readonly #memory: FallbackMemory<R>;
  readonly #retry: Backoff | undefined;
  /** Number of attempts to return to a better transport. */
  #attempts = 0;
  /** Transports that the next session skips, whatever the memory says. */
  #skipNext: Skipped<R> | undefined = undefined;
  #endPause: () => void = () => {};

  constructor({ memory, retry }: FallbackOptions<R>) {
    this.#memory = memory;
    this.#retry = retry === false ? undefined : { ...DEFAULT_RETRY, ...retry };
  }

  /**
   * Opens the best transport that works, using `openFirst`, which tries several. Resolves with the result, and with the
   * reasons why better ones were not used.
   */
  async open<C, T>(
    candidates: readonly C[],
    openFirst: (candidates: readonly C[]) => Promise<Opened<T, R>>,
  ): Promise<{ readonly made: T; readonly index: number; readonly reasons: readonly R[] }> {
    const skipped = this.#skipNext ?? this.#memory.skipped;
    this.#skipNext = undefined;
    const from = Math.min(skipped?.count ?? 0, candidates.length - 1);
    try {
      const { made, index, reason, late } = await openFirst(candidates.slice(from));
      if (late > 0) this.#memory.remember({ reason: reason as R, count: from + late });
      const reasons = [from > 0 ? skipped?.reason : undefined, reason];
      return { made, index: from + index, reasons: reasons.filter((r) => r !== undefined) };
    } catch (error) {
      // The others fail as well, so the first may work just as well.
      this.#memory.reset();
      throw error;
    }
  }

  /**
   * Calls `attempt` after growing pauses until it has created a session over a better transport. Rejects when the
   * signal fires, at once if attempts are disabled, and with an error thrown by `onFailure`, which is called with the
   * error of each attempt.
   *
   * @param onPause called with the milliseconds of each pause, and with `undefined` at its end
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

  /** Notes that the first transports do not work although they can be opened: the next session skips them. */
  skip(skipped: Skipped<R>): void {
    this.#skipNext = skipped;
    this.#memory.remember(skipped);
  }

  /** Notes that a session over the first transport has answered. Resolves when it ends, with whether it lasted. */
  async noteAnswer({ closed }: Pick<Session, "closed">): Promise<boolean> {
    const since = Date.now();
    this.#memory.reset();
    await closed;
    const lasted = Date.now() - since >= STABLE_MS;
    if (lasted) this.#attempts = 0;
    return lasted;
  }

  /** Tries everything again at once, since the network has changed. */
  hurry(): void {
    this.#attempts = 0;
    this.#skipNext = undefined;
    this.#memory.reset();
    this.#endPause();
  }

  /** Waits for this many milliseconds, or until `hurry` is called, without keeping a process alive. Rejects when the signal fires. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = deferred<void>();
    this.#endPause = resolve;
    const timer = setTimeout(resolve, ms);
    (timer as { unref?(): void }).unref?.();
    const forget = onAbort(signal, resolve);
    await promise;
    clearTimeout(timer);
    forget();
    signal.throwIfAborted();
  }
}
