import { young } from "../young.js";

/** Reason why an alternative did not win the race: it failed, or it had not succeeded when the next one was started. */
export type FailedAttempt = { readonly late: false; readonly error: unknown } | { readonly late: true };

export interface RaceOptions<T> {
  /**
   * Functions that make the same result in alternative ways, the preferred one first. The signal aborts when the result
   * is no longer needed.
   */
  readonly openers: readonly ((signal: AbortSignal) => Promise<T>)[];
  /**
   * Delay in milliseconds after which the next alternative is started in parallel if the current one has not succeeded.
   */
  readonly afterMs: number;
  readonly signal: AbortSignal;
  /** Returns true if no further alternatives should be started after this error. Default: always false. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Called with each result that arrives after another alternative has won. Default: such a result is ignored. */
  readonly dispose?: (value: T) => void;
}

export interface RaceResult<T> {
  readonly value: T;
  readonly index: number;
  readonly failures: readonly FailedAttempt[];
}

/**
 * Runs alternative functions, and resolves with the result of the first that succeeds. An alternative is started when
 * the one before it has failed or takes longer than `afterMs`. Rejects with an `AggregateError` if all started ones
 * have failed.
 */
export function race<T>(options: RaceOptions<T>): Promise<RaceResult<T>> {
  return new Promise((resolve, reject) => new Race(options, resolve, reject).start());
}

class Race<T> {
  readonly #options: RaceOptions<T>;
  readonly #resolve: (won: RaceResult<T>) => void;
  readonly #reject: (error: unknown) => void;
  readonly #attempts: Set<AbortController> = new Set();
  readonly #losses: FailedAttempt[] = [];
  readonly #errors: unknown[] = [];
  #begun = 0;
  #headStart: ReturnType<typeof setTimeout> | undefined = undefined;
  #over = false;

  readonly #onAbort: () => void = young(() => {
    this.#finish(this.#options.signal.reason);
    this.#reject(this.#options.signal.reason);
  });

  constructor(options: RaceOptions<T>, resolve: (won: RaceResult<T>) => void, reject: (error: unknown) => void) {
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

  #begin(): void {
    const { openers, afterMs, dispose } = this.#options;
    const index = this.#begun;
    const opener = openers[index];
    if (opener === undefined) return;
    this.#begun++;
    const attempt = new AbortController();
    this.#attempts.add(attempt);
    if (this.#begun < openers.length)
      this.#headStart = setTimeout(() => this.#onFailure(index, { late: true }), afterMs);
    opener(attempt.signal).then(
      (value) => {
        this.#attempts.delete(attempt);
        if (this.#over) {
          dispose?.(value);
          return;
        }
        this.#finish(new Error("another attempt was faster"));
        this.#resolve({ value, index, failures: this.#losses.slice(0, index) });
      },
      (error: unknown) => {
        this.#attempts.delete(attempt);
        if (this.#over) return;
        this.#errors[index] = error;
        this.#onFailure(index, { late: false, error });
        if (this.#attempts.size > 0) return;
        this.#finish(error);
        this.#reject(new AggregateError(this.#errors, "every way has failed"));
      },
    );
  }

  /** Called when an alternative has failed or takes too long. Starts the next one, unless it was already started. */
  #onFailure(index: number, loss: FailedAttempt): void {
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
