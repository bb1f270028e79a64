import type { ItemIterator } from "../platform-types.js";

/** State of a connection. `error` says why it is not ready: the last attempt's failure, or how the session was lost. */
export type ConnectionState = ConnectionStatus & {
  /** Number of streams that have lost their session and wait to be resumed; absent if there are none. */
  readonly resuming?: number;
};

type ConnectionStatus =
  /** Not dialling; the first call dials. */
  | { readonly status: "idle" }
  /** Dialling, or waiting for the next attempt at `retryAt` (milliseconds since the epoch). Calls wait. */
  | {
      readonly status: "connecting";
      /** Failures in a row so far. */
      readonly failures: number;
      readonly error?: Error;
      readonly retryAt?: number;
    }
  /** Calls go out at once. */
  | { readonly status: "ready" }
  /** The peer is leaving: calls in progress finish, new ones wait for the session that is being dialled. */
  | { readonly status: "draining" }
  /** For good: `close` was called, or the session was lost and `reconnect` is off. */
  | { readonly status: "closed"; readonly error?: Error };

/** Returns `state` with the number of streams that wait to be resumed. */
export function withResuming(state: ConnectionState, resuming: number): ConnectionState {
  const { status } = state;
  if (resuming === (state.resuming ?? 0)) return state;
  if (resuming > 0 && status !== "closed") return { ...state, resuming };
  const without: { resuming?: number } = { ...state };
  delete without.resuming;
  return without as ConnectionState;
}

/** A value that changes, and the iterators that watch it. */
export class Watched<T> {
  #current: T;
  #over = false;
  #watchers: readonly Watcher<T>[] = [];

  constructor(initial: T) {
    this.#current = initial;
  }

  get value(): T {
    return this.#current;
  }

  /** Sets the value. With `last`, every watch ends after it. */
  set(value: T, last = false): void {
    this.#current = value;
    this.#over = last;
    for (const watcher of this.#watchers) watcher.tell(value, last);
    if (last) this.#watchers = [];
  }

  /** The present value, then each change; a reader that is slow skips to the latest. */
  watch(): ItemIterator<T> {
    const watcher = new Watcher<T>((gone) => {
      this.#watchers = this.#watchers.filter((one) => one !== gone);
    });
    if (!this.#over) this.#watchers = [...this.#watchers, watcher];
    watcher.tell(this.#current, this.#over);
    return watcher;
  }
}

/** Written by hand rather than as a generator: leaving must not wait for the next change. */
class Watcher<T> implements ItemIterator<T> {
  #unseen: { readonly value: T } | undefined = undefined;
  #over = false;
  #waiting: ((result: IteratorResult<T, undefined>) => void)[] = [];
  readonly #onLeft: (watcher: Watcher<T>) => void;

  constructor(onLeft: (watcher: Watcher<T>) => void) {
    this.#onLeft = onLeft;
  }

  tell(value: T, last: boolean): void {
    const first = this.#waiting.shift();
    if (first === undefined) this.#unseen = { value };
    else first({ value, done: false });
    if (last) this.#end();
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const unseen = this.#unseen;
    this.#unseen = undefined;
    if (unseen !== undefined) return Promise.resolve({ value: unseen.value, done: false });
    if (this.#over) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#unseen = undefined;
    this.#end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #end(): void {
    this.#over = true;
    this.#onLeft(this);
    for (const resolve of this.#waiting.splice(0)) resolve({ value: undefined, done: true });
  }
}
