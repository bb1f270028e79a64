import { young } from "../young.js";

/** Reason why an alternative did not win the race: it failed, or it had not succeeded when the next one was started. */
export type Loss = { readonly late: false; readonly error: unknown } | { readonly late: true };

/** Options of `race`. */
export interface RaceOptions<T> {
  /**
   * Functions that make the same result in alternative ways, the preferred one first. The signal aborts when the result
   * is no longer needed.
   */
  readonly ways: readonly ((signal: AbortSignal) => Promise<T>)[];
  /**
   * Delay in milliseconds after which the next alternative is started in parallel if the current one has not succeeded.
   */
  readonly afterMs: number;
  /** Aborts the race, which then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Returns true if no further alternatives should be started after this error. Default: always false. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Called with each result that arrives after another alternative has won. Default: such a result is ignored. */
  readonly dispose?: (made: T) => void;
}

/** Result of `race`. */
export interface Won<T> {
  readonly made: T;
  /** Index of the alternative that succeeded first. */
  readonly index: number;
  /** Reasons why the alternatives before it did not win. */
  readonly losses: readonly Loss[];
}

/**
 * Runs alternative functions, and resolves with the result of the first that succeeds. An alternative is started when
 * the one before it has failed or takes longer than `afterMs`. Rejects with an `AggregateError` if all started ones
 * have failed.
 */
export function race<T>(options: RaceOptions<T>): Promise<Won<T>> {
  return new Promise((resolve, reject) => new Race(options, resolve, reject).start());
}

class Race<T> {
  readonly #options: RaceOptions<T>;
  readonly #resolve: (won: Won<T>) => void;
  readonly #reject: (error: unknown) => void;
  /** Abort controllers of the attempts in progress. */
  readonly #attempts: Set<AbortController> = new Set();
  readonly #losses: Loss[] = [];
  readonly #errors: unknown[] = [];
  #begun = 0;
  #headStart: ReturnType<typeof setTimeout> | undefined = undefined;
  #over = false;

  readonly #onAbort: () => void = young(() => {
    this.#finish(this.#options.signal.reason);
    this.#reject(this.#options.signal.reason);
  });

  constructor(options: RaceOptions<T>, resolve: (won: Won<T>) => void, reject: (error: unknown) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { signal } = this.#options;
    signal.addEventListener("abort", this.#onAbort);
    if (signal.aborted) this.#onAbort();
    else this.#begin();
  }

  /** Starts the next alternative, if there is one. */
  #begin(): void {
    const { ways, afterMs, dispose } = this.#options;
    const index = this.#begun;
    const way = ways[index];
    if (way === undefined) return;
    this.#begun++;
    const attempt = new AbortController();
    this.#attempts.add(attempt);
    if (this.#begun < ways.length) this.#headStart = setTimeout(() => this.#lost(index, { late: true }), afterMs);
    way(attempt.signal).then(
      (made) => {
        this.#attempts.delete(attempt);
        if (this.#over) {
          dispose?.(made);
          return;
        }
        this.#finish(new Error("another attempt was faster"));
        this.#resolve({ made, index, losses: this.#losses.slice(0, index) });
      },
      (error: unknown) => {
        this.#attempts.delete(attempt);
        if (this.#over) return;
        this.#errors[index] = error;
        this.#lost(index, { late: false, error });
        if (this.#attempts.size > 0) return;
        this.#finish(error);
        this.#reject(new AggregateError(this.#errors, "every way has failed"));
      },
    );
  }

  /** Called when an alternative has failed or takes too long. Starts the next one, unless it was already started. */
  #lost(index: number, loss: Loss): void {
    if (index !== this.#begun - 1) return;
    clearTimeout(this.#headStart);
    this.#losses[index] = loss;
    if (!loss.late && this.#options.isFinal?.(loss.error) === true) return;
    this.#begin();
  }

  #finish(reason: unknown): void {
    this.#over = true;
    clearTimeout(this.#headStart);
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    for (const attempt of this.#attempts) attempt.abort(reason);
    this.#attempts.clear();
  }
}
