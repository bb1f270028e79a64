import { setImmediate, setTimeout } from "node:timers/promises";

/** Node's timers are a millisecond or so late: what is due sooner is waited for by turns of the event loop. */
const TIMER_MS = 2;

/** Times at which calls are due, evenly spread, whoever is ready to make them: a caller that is late learns when it should have begun. */
export class Pace {
  private readonly intervalMs: number;
  private readonly now: () => number;
  private readonly waiting: ((dueMs: number) => void)[] = [];
  private dueMs: number;
  private running = false;
  private over = false;

  constructor(perSecond: number, now: () => number = () => performance.now()) {
    this.intervalMs = 1000 / perSecond;
    this.now = now;
    this.dueMs = now();
  }

  /** Resolves when a call is due, with the time at which it was; callers get their turns in the order in which they asked. */
  next(): Promise<number> {
    const turn = new Promise<number>((resolve) => this.waiting.push(resolve));
    if (!this.running) void this.run();
    return turn;
  }

  /** All who wait have their turn at once: no more calls are made. */
  end(): void {
    this.over = true;
  }

  private async run(): Promise<void> {
    this.running = true;
    while (this.waiting.length > 0) {
      const left = this.dueMs - this.now();
      if (left <= 0 || this.over) {
        this.waiting.shift()?.(this.dueMs);
        this.dueMs += this.intervalMs;
      } else if (left > TIMER_MS) {
        // Ends may come meanwhile: they are seen within a tenth of a second.
        await setTimeout(Math.min(left - TIMER_MS, 100));
      } else {
        await setImmediate();
      }
    }
    this.running = false;
  }
}
