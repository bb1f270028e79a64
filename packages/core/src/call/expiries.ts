/** Largest delay that `setTimeout` accepts, in milliseconds. */
const MAX_DELAY = 2 ** 31 - 1;

export class Expiry {
  /** Time at which the callback runs, in milliseconds of `performance.now()`. */
  readonly at: number;
  readonly onExpired: () => void;
  /** Index of this entry in the heap; -1 after it was removed. */
  index = -1;

  constructor(at: number, onExpired: () => void) {
    this.at = at;
    this.onExpired = onExpired;
  }
}

/**
 * Runs many scheduled callbacks with a single platform timer, by a heap ordered by time: a timer for each call would
 * cost more than the rest of a small call. An empty heap has no timer.
 */
export class Expiries {
  readonly #heap: Expiry[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined = undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  /**
   * The `setTimeout` function that created the current timer. Tests may replace the global one; the old timer may then
   * never fire, and the new `clearTimeout` may not be able to clear it.
   */
  #clock: typeof setTimeout | undefined = undefined;
  readonly #onTime = (): void => this.#expire();
  readonly #holdsProcess: boolean;

  /** @param holdsProcess whether pending timers keep the process alive, on platforms that have processes (Node) */
  constructor(holdsProcess: boolean = true) {
    this.#holdsProcess = holdsProcess;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Schedules `onExpired`, which must not throw, in `delayMs` milliseconds. */
  add(delayMs: number, onExpired: () => void): Expiry {
    const expiry = new Expiry(performance.now() + delayMs, onExpired);
    this.#siftUp(expiry, this.#heap.length);
    if (expiry.index === 0 || this.#clock !== setTimeout) this.#arm();
    return expiry;
  }

  remove(expiry: Expiry): void {
    const { index } = expiry;
    if (index < 0) return;
    expiry.index = -1;
    const last = this.#heap.pop() as Expiry;
    if (last !== expiry) {
      // The moved entry may be too early or too late for its new index: one of the two calls corrects that.
      this.#siftUp(last, index);
      this.#siftDown(last, last.index);
    }
    if (this.#heap.length === 0) this.#disarm();
  }

  #expire(): void {
    this.#disarm();
    const now = performance.now();
    for (let first = this.#heap[0]; first !== undefined && first.at <= now; first = this.#heap[0]) {
      this.remove(first);
      first.onExpired();
    }
    if (this.#heap.length > 0) this.#arm();
  }

  /** Sets the timer for the earliest entry. A timer that fires too early runs no callback and is set again. */
  #arm(): void {
    const { at } = this.#heap[0] as Expiry;
    if (this.#timerAt <= at && this.#clock === setTimeout) return;
    this.#disarm();
    this.#clock = setTimeout;
    this.#timerAt = at;
    this.#timer = setTimeout(this.#onTime, Math.min(Math.ceil(at - performance.now()), MAX_DELAY));
    if (!this.#holdsProcess) (this.#timer as { unref?(): void }).unref?.();
  }

  #disarm(): void {
    // A timer that another `setTimeout` created is not cleared: it finds nothing to do, or never fires.
    if (this.#clock === setTimeout) clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  #siftUp(expiry: Expiry, from: number): void {
    const heap = this.#heap;
    let index = from;
    while (index > 0) {
      const parent = heap[(index - 1) >> 1] as Expiry;
      if (parent.at <= expiry.at) break;
      this.#place(parent, index);
      index = (index - 1) >> 1;
    }
    this.#place(expiry, index);
  }

  #siftDown(expiry: Expiry, from: number): void {
    const heap = this.#heap;
    let index = from;
    for (;;) {
      let child = index * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as Expiry).at < (heap[child] as Expiry).at) child++;
      if ((heap[child] as Expiry).at >= expiry.at) break;
      this.#place(heap[child] as Expiry, index);
      index = child;
    }
    this.#place(expiry, index);
  }

  #place(expiry: Expiry, index: number): void {
    this.#heap[index] = expiry;
    expiry.index = index;
  }
}

/** Deadlines and delays of all calls in this process. */
export const expiries: Expiries = new Expiries();

/**
 * Timers of warnings, for example about handlers that do not stop after they were cancelled. They do not keep the
 * process alive.
 */
export const reminders: Expiries = /* @__PURE__ */ new Expiries(false);

/**
 * Resolves when the first of `events` resolves, or after `timeoutMs` milliseconds (`Infinity` for no limit). Rejects if
 * an event rejects first.
 */
export async function settledWithin(timeoutMs: number, ...events: readonly Promise<unknown>[]): Promise<void> {
  let timeout: Expiry | undefined;
  const expired = new Promise<void>((resolve) => {
    if (timeoutMs !== Infinity) timeout = expiries.add(timeoutMs, resolve);
  });
  try {
    await Promise.race([...events, expired]);
  } finally {
    if (timeout !== undefined) expiries.remove(timeout);
  }
}
