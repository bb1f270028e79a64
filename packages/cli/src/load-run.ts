import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { RpcError, type Session } from "@quicrpc/core";
import { LoadSeries, type SecondSample } from "./load-series.js";
import { CallPacer } from "./call-pacer.js";

/**
 * Makes one call. Resolves with the number of items in its output (0 if the output is not a stream), or undefined if
 * there is no output.
 */
type TimedCall = (session: Session) => Promise<number | undefined>;

/**
 * Prepares a call and returns the function that makes it, so that the time for creating the input does not count as
 * latency.
 */
export type NextCall = () => TimedCall;

export interface LoadPlan {
  /** Number of concurrent calls on each session. */
  readonly inFlight: number;
  /** Number of calls after which the run ends. `seconds` is the time after which the run ends. */
  readonly calls: number;
  readonly seconds: number;
  /**
   * Number of calls to start per second, at equal intervals. If too many calls are in progress at the time of a start,
   * the wait counts as latency. Default: each call starts when a previous one has ended, so a slow server receives
   * fewer calls.
   */
  readonly rate?: number | undefined;
  /** Ends the run early. Calls in progress are completed. */
  readonly signal: AbortSignal;
  /** If true, records each second separately. Default false. */
  readonly series?: boolean | undefined;
}

/** Result of a run. Latencies are in nanoseconds and include only successful calls. */
export interface Outcome {
  /** Duration of the run in seconds. */
  readonly took: number;
  readonly calls: number;
  readonly items: number;
  readonly latency: RecordableHistogram;
  /** Number of failed calls and the first error message, by status code. */
  readonly failed: ReadonlyMap<string, { count: number; readonly message: string }>;
  /** CPU time of this process in microseconds, user and system together. */
  readonly cpuMicros: number;
  /** Measurements of each second. Empty unless `series` is set. */
  readonly seconds: readonly SecondSample[];
}

export class LoadRun {
  calls = 0;
  items = 0;
  readonly latency: RecordableHistogram = createHistogram();
  readonly failed: Map<string, { count: number; readonly message: string }> = new Map();
  private readonly load: LoadPlan;
  private remainingCalls: number;
  private isOver: boolean;
  private readonly lostSessions = new Set<Session>();
  private readonly pacer: CallPacer | undefined;
  private series: LoadSeries | undefined = undefined;

  constructor(load: LoadPlan) {
    this.load = load;
    this.remainingCalls = load.calls;
    this.isOver = load.signal.aborted;
    this.pacer = load.rate === undefined ? undefined : new CallPacer(load.rate);
  }

  get failures(): number {
    let failures = 0;
    for (const { count } of this.failed.values()) failures += count;
    return failures;
  }

  /** Runs the calls on all sessions. Resolves when all calls have ended. A session that is lost makes no more calls. */
  async run(sessions: readonly Session[], next: NextCall): Promise<Outcome> {
    const { inFlight, seconds, signal } = this.load;
    const end = (): void => {
      this.isOver = true;
      this.pacer?.end();
    };
    const timer = setTimeout(end, seconds * 1000);
    signal.addEventListener("abort", end);
    if (this.load.series === true) this.series = new LoadSeries(this);
    const cpu = process.cpuUsage();
    for (const session of sessions) void session.closed.then(() => this.onSessionEnd(session));
    const began = performance.now();
    await Promise.all(sessions.flatMap((session) => Array.from({ length: inFlight }, () => this.work(session, next))));
    const took = (performance.now() - began) / 1000;
    end();
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    const { user, system } = process.cpuUsage(cpu);
    const { calls, items, latency, failed, series } = this;
    series?.end();
    return { took, calls, items, latency, failed, cpuMicros: user + system, seconds: series?.seconds ?? [] };
  }

  private async work(session: Session, next: NextCall): Promise<void> {
    while (!this.isOver && !this.lostSessions.has(session) && this.remainingCalls-- > 0) {
      try {
        const call = next();
        const began = this.pacer === undefined ? performance.now() : await this.pacer.next();
        if (this.isOver) return;
        this.calls++;
        const items = await call(session);
        if (items === undefined) continue;
        this.items += items;
        const nanos = Math.max(1, Math.round((performance.now() - began) * 1e6));
        this.latency.record(nanos);
        this.series?.record(nanos);
      } catch (error) {
        this.note(RpcError.from(error));
        // Without a pause, calls that fail at once would keep the loop busy and the timer would never fire.
        await setImmediate();
      }
    }
  }

  /** Counts a session that ends before the run as a failure, because it may have ended without a failed call. */
  private onSessionEnd(session: Session): void {
    this.lostSessions.add(session);
    if (!this.isOver) this.note(new RpcError("unavailable", "the session has ended"));
  }

  private note({ code, message }: RpcError): void {
    const known = this.failed.get(code);
    if (known === undefined) this.failed.set(code, { count: 1, message });
    else known.count++;
  }
}
