import type { ItemIterator } from "../platform-types.js";

/**
 * State of a connection. `error` is the reason why it is not ready: the failure of the last attempt to connect, or the
 * error with which the session was lost.
 */
export type ConnectionState = ConnectionStatus & {
  /** Number of streams that wait to be resumed after their session was lost; absent if there are none. */
  readonly resuming?: number;
};

type ConnectionStatus =
  /** Not connected. The first call connects. */
  | { readonly status: "idle" }
  /** Connecting, or waiting for the next attempt at `retryAt` (milliseconds since the Unix epoch). Calls wait. */
  | {
      readonly status: "connecting";
      /** Number of consecutive failed attempts. */
      readonly failures: number;
      readonly error?: Error;
      readonly retryAt?: number;
    }
  /** Connected: calls are sent at once. */
  | { readonly status: "ready" }
  /** The session is being drained: calls in progress finish, new calls wait for the next session. */
  | { readonly status: "draining" }
  /** Closed permanently: `close` was called, or the session was lost and `reconnect` is false. */
  | { readonly status: "closed"; readonly error?: Error };

export function withResuming(state: ConnectionState, resuming: number): ConnectionState {
  const { status } = state;
  if (resuming === (state.resuming ?? 0)) return state;
  if (resuming > 0 && status !== "closed") return { ...state, resuming };
  const without: { resuming?: number } = { ...state };
  delete without.resuming;
  return without as ConnectionState;
}

/** A variable whose changes can be observed by async iterators. */
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

  /** Sets the value and passes it to all iterators. If `last` is true, the iterators end after it. */
  set(value: T, last = false): void {
    this.#current = value;
    this.#over = last;
    for (const watcher of this.#watchers) watcher.tell(value, last);
    if (last) this.#watchers = [];
  }

  /** Returns an iterator over the current value and each later value. A slow reader gets only the latest value. */
  watch(): ItemIterator<T> {
    const watcher = new Watcher<T>((ended) => {
      this.#watchers = this.#watchers.filter((other) => other !== ended);
    });
    if (!this.#over) this.#watchers = [...this.#watchers, watcher];
    watcher.tell(this.#current, this.#over);
    return watcher;
  }
}

/**
 * An iterator over the values of a `Watched`. It is not a generator, because `return` must not wait for the next value.
 */
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
