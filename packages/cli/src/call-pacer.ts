import { setImmediate, setTimeout } from "node:timers/promises";

/**
 * Remaining milliseconds that are waited for with turns of the event loop, because timers are about a millisecond late.
 */
const TIMER_MS = 2;

/** Evenly spaced start times of calls. A caller that is late learns when its call should have started. */
export class CallPacer {
  private readonly intervalMs: number;
  private readonly now: () => number;
  private readonly waiting: ((dueMs: number) => void)[] = [];
  private dueMs: number;
  private running = false;
  private isOver = false;

  constructor(perSecond: number, now: () => number = () => performance.now()) {
    this.intervalMs = 1000 / perSecond;
    this.now = now;
    this.dueMs = now();
  }

  /** Resolves when a call is due, with its due time. Callers are served in order. */
  next(): Promise<number> {
    const dueAt = new Promise<number>((resolve) => this.waiting.push(resolve));
    if (!this.running) void this.run();
    return dueAt;
  }

  /** Resolves all waiting callers at once: no more calls are made. */
  end(): void {
    this.isOver = true;
  }

  private async run(): Promise<void> {
    this.running = true;
    while (this.waiting.length > 0) {
      const remainingMs = this.dueMs - this.now();
      if (remainingMs <= 0 || this.isOver) {
        this.waiting.shift()?.(this.dueMs);
        this.dueMs += this.intervalMs;
      } else if (remainingMs > TIMER_MS) {
        // The end may be reached in the meantime; it is noticed within a tenth of a second.
        await setTimeout(Math.min(remainingMs - TIMER_MS, 100));
      } else {
        await setImmediate();
      }
    }
    this.running = false;
  }
}
