import { createHistogram } from "node:perf_hooks";

/**
 * Measurements of one second of a run. Latencies are those of the successful calls that ended in that second, in
 * milliseconds, or undefined if there were none.
 */
export interface SecondSample {
  readonly calls: number;
  readonly failures: number;
  readonly p50: number | undefined;
  readonly p99: number | undefined;
  readonly max: number | undefined;
}

const MS = 1e6;

/** Collects the measurements of a run for each second. */
export class LoadSeries {
  readonly seconds: SecondSample[] = [];
  private readonly latency = createHistogram();
  private readonly counters: { readonly calls: number; readonly failures: number };
  private before: { readonly calls: number; readonly failures: number } = { calls: 0, failures: 0 };
  private readonly timer: NodeJS.Timeout;

  /** @param counters counters of the run, which are read once per second */
  constructor(counters: { readonly calls: number; readonly failures: number }) {
    this.counters = counters;
    this.timer = setInterval(() => this.endSecond(), 1000);
  }

  record(nanos: number): void {
    this.latency.record(nanos);
  }

  /** Stops measuring, and adds the sample of the last, incomplete second if it has calls. */
  end(): void {
    clearInterval(this.timer);
    if (this.latency.count > 0 || this.counters.calls > this.before.calls) this.endSecond();
  }

  private endSecond(): void {
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
