import { createHistogram } from "node:perf_hooks";

/** One second of a load. Latencies are in milliseconds, of calls that ended in it and succeeded; undefined where there were none. */
export interface Second {
  readonly calls: number;
  readonly failures: number;
  readonly p50: number | undefined;
  readonly p99: number | undefined;
  readonly max: number | undefined;
}

const MS = 1e6;

/** Counts of a load, second by second. */
export class LoadSeries {
  readonly seconds: Second[] = [];
  private readonly latency = createHistogram();
  private readonly counters: { readonly calls: number; readonly failures: number };
  private before: { readonly calls: number; readonly failures: number } = { calls: 0, failures: 0 };
  private readonly timer: NodeJS.Timeout;

  /** `counters` are looked at each second. */
  constructor(counters: { readonly calls: number; readonly failures: number }) {
    this.counters = counters;
    this.timer = setInterval(() => this.cut(), 1000);
  }

  /** Notes a call that succeeded. */
  record(nanos: number): void {
    this.latency.record(nanos);
  }

  /** Ends the last second, which may be a part of one. */
  end(): void {
    clearInterval(this.timer);
    if (this.latency.count > 0 || this.counters.calls > this.before.calls) this.cut();
  }

  private cut(): void {
    const { latency, before } = this;
    const { calls, failures } = this.counters;
    const some = latency.count > 0;
    this.seconds.push({
      calls: calls - before.calls,
      failures: failures - before.failures,
      p50: some ? latency.percentile(50) / MS : undefined,
      p99: some ? latency.percentile(99) / MS : undefined,
      max: some ? latency.max / MS : undefined,
    });
    this.before = { calls, failures };
    latency.reset();
  }
}
