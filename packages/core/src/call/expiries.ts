/** Largest delay of a platform's timer. */
const MAX_DELAY = 2 ** 31 - 1;

/** A function that is called at a certain time, unless it is removed before. */
export class Expiry {
  /** Time of the expiry, by the monotonic clock. */
  readonly at: number;
  readonly onExpired: () => void;
  /** Index in its queue; -1 after it was removed. */
  index = -1;

  constructor(at: number, onExpired: () => void) {
    this.at = at;
    this.onExpired = onExpired;
  }
}

/**
 * Deadlines, however many, on one timer: a heap ordered by time. A timer for each would cost more than the rest of a small
 * call. While it is empty no timer is left.
 */
export class Expiries {
  readonly #heap: Expiry[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined = undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  /**
   * The `setTimeout` that created the timer. If tests replace the clock, that timer may never fire, and the new
   * `clearTimeout` may not know it.
   */
  #clock: typeof setTimeout | undefined = undefined;
  readonly #onTime = (): void => this.#expire();
  readonly #holdsProcess: boolean;

  /** @param holdsProcess whether pending timers keep the process alive, on platforms with processes */
  constructor(holdsProcess: boolean = true) {
    this.#holdsProcess = holdsProcess;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Calls `onExpired`, which must not throw, in `delayMs`. */
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
      // If the entry is out of order, one of the two moves it.
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

  /** Sets the timer. If it fires too early, it finds nothing to do and is set again. */
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
    // A timer of another clock fires too early, or never.
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

/** The deadlines of all calls of this process. */
export const expiries: Expiries = new Expiries();

/** Timers of reports about calls. They do not keep the process alive. */
export const reminders: Expiries = /* @__PURE__ */ new Expiries(false);

/** Waits for the first of `events`, but no longer than `timeoutMs` (which may be `Infinity`). Rejects as they do. */
export async function atMost(timeoutMs: number, ...events: readonly Promise<unknown>[]): Promise<void> {
  let late: Expiry | undefined;
  const expired = new Promise<void>((resolve) => {
    if (timeoutMs !== Infinity) late = expiries.add(timeoutMs, resolve);
  });
  try {
    await Promise.race([...events, expired]);
  } finally {
    if (late !== undefined) expiries.remove(late);
  }
}
