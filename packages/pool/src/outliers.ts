import { RpcError } from "@quicrpc/core";
import { isEndOfSession } from "@quicrpc/core/internal";

/** When a target gets no calls for a while because those it gets fail. */
export interface OutlierOptions {
  /** Failures in a row. Default 5. */
  readonly consecutiveFailures: number;
  /** Share of failures among the calls of a window, above 0 and up to 1. Default 0.5. */
  readonly failureRatio: number;
  /** Minimum number of calls in a window before its failure rate counts. Default 20. */
  readonly minCalls: number;
  /** Milliseconds of a window. Default 10,000. */
  readonly windowMs: number;
  /** Milliseconds of the first ejection; the second in a row is twice as long, the third three times. Default 30,000. */
  readonly ejectionMs: number;
  /** Milliseconds that no ejection exceeds. Default 300,000. */
  readonly maxEjectionMs: number;
  /** Share of the targets that may be ejected at once. Default 0.5: of two targets one, and never the only one. */
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

/** Results of the calls to one target, as far as its ejection depends on them. */
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

  /** Counts a call. Returns whether the target should be ejected now. */
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

  /** Milliseconds that the ejection which begins now lasts. One is forgotten for each `ejectionMs` spent well. */
  eject(): number {
    const { ejectionMs, maxEjectionMs } = this.options;
    const spentWell = Math.floor((Date.now() - this.returnedAt) / ejectionMs);
    this.ejections = Math.max(0, this.ejections - spentWell) + 1;
    return Math.min(maxEjectionMs, ejectionMs * this.ejections);
  }

  /** The ejection is over. */
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
 * Returns whether the result of a call counts as a failure of its target; undefined if it says nothing about the
 * target. Errors that the caller caused count as successes. The end of a session does not count: the target gets no
 * calls until it has another session.
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
