/** Why a way did not win: it failed, or had not succeeded when the next was begun. */
import { young } from "../young.js";
export type Loss = { readonly late: false; readonly error: unknown } | { readonly late: true };

/** Options of `race`. */
export interface RaceOptions<T> {
  /** Functions that make the same in different ways, the best first. Its signal fires when its result is no longer wanted. */
  readonly ways: readonly ((signal: AbortSignal) => Promise<T>)[];
  /** Milliseconds before the next way is tried in parallel, if the current one has not succeeded. */
  readonly afterMs: number;
  /** Ends the race, which then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Whether an error is one that no other way is tried after. Default: none is. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Receives what a way has made although another was faster. Default: the way's signal has ended it. */
  readonly dispose?: (made: T) => void;
}

/** Outcome of a race. */
export interface Won<T> {
  readonly made: T;
  /** Index of the way that won. */
  readonly index: number;
  /** Why each of the ways before it did not win. */
  readonly losses: readonly Loss[];
}

/**
 * Takes the first of several ways to the same that succeeds. Each is begun when the one before it has failed or is late. Rejects with
 * an `AggregateError` of each way's error when all that were begun have failed.
 */
export function race<T>(options: RaceOptions<T>): Promise<Won<T>> {
  return new Promise((resolve, reject) => new Race(options, resolve, reject).start());
}

class Race<T> {
  readonly #options: RaceOptions<T>;
  readonly #resolve: (won: Won<T>) => void;
  readonly #reject: (error: unknown) => void;
  /** Controllers of the attempts in progress. */
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

  /** Begins the next way, if there is one. */
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

  /** The latest way has failed or is late. Without effect for one that the next was begun after. */
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
