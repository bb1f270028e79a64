import type { LoadShedder } from "./admission.js";

/** Conditions under which calls are refused instead of being served late. */
export interface LoadSheddingOptions {
  /**
   * Maximum delay of the event loop in milliseconds, on average over the last half second or right now. Default: not
   * measured.
   */
  readonly maxEventLoopDelayMs?: number;
  /** Most calls in progress, over all sessions. Default: no limit. */
  readonly maxCalls?: number;
}

/** How often the event loop is measured, in milliseconds. */
const INTERVAL_MS = 50;
/** Weight of one measurement in the average: ten of them amount to half a second. */
const WEIGHT = 0.1;

/** Refuses calls with `unavailable`, so that they can be repeated elsewhere, while this process is overloaded. */
export class OverloadGuard implements LoadShedder {
  private readonly options: LoadSheddingOptions;
  private readonly timer: ReturnType<typeof setInterval> | undefined;
  private calls = 0;
  private delayMs = 0;
  private due = performance.now() + INTERVAL_MS;

  constructor(options: LoadSheddingOptions) {
    this.options = options;
    if (options.maxEventLoopDelayMs === undefined) return;
    this.timer = setInterval(() => this.measure(), INTERVAL_MS);
    (this.timer as { unref?(): void }).unref?.();
  }

  objection(): string | undefined {
    const { maxCalls, maxEventLoopDelayMs } = this.options;
    if (maxCalls !== undefined && this.calls >= maxCalls) {
      return `the server has ${this.calls} calls in progress (loadShedding.maxCalls)`;
    }
    if (maxEventLoopDelayMs === undefined) return undefined;
    const delay = Math.max(this.delayMs, performance.now() - this.due);
    if (delay <= maxEventLoopDelayMs) return undefined;
    return `the server is ${Math.round(delay)} ms behind (loadShedding.maxEventLoopDelayMs is ${maxEventLoopDelayMs})`;
  }

  onCalls(change: 1 | -1): void {
    this.calls += change;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private measure(): void {
    const now = performance.now();
    this.delayMs += (Math.max(0, now - this.due) - this.delayMs) * WEIGHT;
    this.due = now + INTERVAL_MS;
  }
}
