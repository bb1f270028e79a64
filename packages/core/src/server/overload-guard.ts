import type { LoadShedder } from "./admission.js";

/** Limits beyond which a server refuses calls instead of serving them late. */
export interface LoadSheddingOptions {
  /**
   * Maximum delay of the event loop in milliseconds. Calls are refused if the current delay, or the average of the last
   * half second, exceeds it. Default: not measured.
   */
  readonly maxEventLoopDelayMs?: number;
  /** Maximum number of calls in progress in all sessions together. Default: no limit. */
  readonly maxCalls?: number;
}

const INTERVAL_MS = 50;
/** Weight of one measurement in the moving average, which so covers about half a second. */
const WEIGHT = 0.1;

/**
 * Refuses calls with `unavailable` while this process is overloaded, so that clients can retry them on another server.
 */
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
