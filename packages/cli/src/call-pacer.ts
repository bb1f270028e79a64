import { setImmediate, setTimeout } from "node:timers/promises";

/**
 * Remaining milliseconds that are waited for with turns of the event loop instead of a timer, because timers fire about
 * one millisecond late.
 */
const TIMER_MS = 2;

/**
 * Schedules the starts of calls at equal intervals. A caller that is late receives the time at which its call was due.
 */
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

  /**
   * Waits for the next start. Resolves with the time at which the call was due. Waiting callers are served in order.
   */
  next(): Promise<number> {
    const dueAt = new Promise<number>((resolve) => this.waiting.push(resolve));
    if (!this.running) void this.run();
    return dueAt;
  }

  /** Resolves all waiting callers at once, because no more calls are made. */
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
        // The run may end meanwhile, which is noticed within a tenth of a second.
        await setTimeout(Math.min(remainingMs - TIMER_MS, 100));
      } else {
        await setImmediate();
      }
    }
    this.running = false;
  }
}
