import { RpcError } from "@quicrpc/core";
import { isEndOfSession } from "@quicrpc/core/internal";

/** Options of outlier detection: when a target gets no calls for some time because its calls fail (ejection). */
export interface OutlierOptions {
  /** Number of consecutive failures after which a target is ejected. Default 5. */
  readonly consecutiveFailures: number;
  /** Share of failed calls within a window, above 0 and up to 1, from which a target is ejected. Default 0.5. */
  readonly failureRatio: number;
  /** Minimum number of calls in a window for `failureRatio` to apply. Default 20. */
  readonly minCalls: number;
  /** Length of a window in milliseconds. Default 10,000. */
  readonly windowMs: number;
  /**
   * Duration of the first ejection in milliseconds. The second consecutive ejection lasts twice as long, the third
   * three times. Default 30,000.
   */
  readonly ejectionMs: number;
  /** Maximum duration of an ejection in milliseconds. Default 300,000. */
  readonly maxEjectionMs: number;
  /**
   * Maximum share of the targets that may be ejected at the same time. Default 0.5: one of two targets; a single target
   * is never ejected.
   */
  readonly maxEjectedShare: number;
}

export const DEFAULT_OUTLIERS: OutlierOptions = {
  consecutiveFailures: 5,
  failureRatio: 0.5,
  minCalls: 20,
  windowMs: 10_000,
  ejectionMs: 30_000,
  maxEjectionMs: 300_000,
  maxEjectedShare: 0.5,
};

/** Counts the results of the calls to one target, and decides about its ejection. */
export class OutlierRecord {
  private readonly options: OutlierOptions;
  private inARow = 0;
  private calls = 0;
  private failures = 0;
  private windowStart = 0;
  private ejections = 0;
  private returnedAt = 0;

  constructor(options: OutlierOptions) {
    this.options = options;
  }

  /** Counts a call. Returns true if the target should be ejected now. */
  add(failed: boolean): boolean {
    const { consecutiveFailures, failureRatio, minCalls, windowMs } = this.options;
    const now = Date.now();
    if (now - this.windowStart >= windowMs) this.startWindow(now);
    this.calls++;
    if (!failed) {
      this.inARow = 0;
      return false;
    }
    this.inARow++;
    this.failures++;
    if (this.inARow >= consecutiveFailures) return true;
    return this.calls >= minCalls && this.failures / this.calls >= failureRatio;
  }

  /**
   * Starts an ejection and returns its duration in milliseconds. One earlier ejection is forgotten for each
   * `ejectionMs` without another ejection.
   */
  eject(): number {
    const { ejectionMs, maxEjectionMs } = this.options;
    const spentWell = Math.floor((Date.now() - this.returnedAt) / ejectionMs);
    this.ejections = Math.max(0, this.ejections - spentWell) + 1;
    return Math.min(maxEjectionMs, ejectionMs * this.ejections);
  }

  return(): void {
    this.returnedAt = Date.now();
    this.inARow = 0;
    this.startWindow(this.returnedAt);
  }

  private startWindow(now: number): void {
    this.windowStart = now;
    this.calls = 0;
    this.failures = 0;
  }
}

/**
 * Returns true if the result of a call counts as a failure of its target, and false if it counts as a success, as
 * errors do that the caller caused. Returns undefined if it does neither: the end of a session does not count, because
 * the target gets no calls until it has another session.
 */
export function isTargetFailure(error: unknown): boolean | undefined {
  if (error === undefined) return false;
  if (!(error instanceof RpcError)) return undefined;
  switch (error.code) {
    case "unavailable":
      return isEndOfSession(error) ? undefined : true;
    case "deadline_exceeded":
    case "internal":
    case "unknown":
    case "data_loss":
      return true;
    case "cancelled":
      return undefined;
    default:
      return false;
  }
}
