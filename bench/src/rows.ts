import { cpus, release, type } from "node:os";
import { median, type Quartiles, quartiles } from "./median.js";
import type { Latency } from "./protocol.js";
import type { Measurement } from "./process-pair.js";

/** Result of one contestant in one workload: medians over the rounds, or the reason why there are none. */
export interface Row {
  readonly workload: string;
  readonly contestant: string;
  readonly unit: string;
  readonly rounds: number;
  readonly perSecond?: number;
  /** Quartiles of the rate over the rounds. */
  readonly perSecondQuartiles?: Quartiles;
  /** Microseconds of user and system time for each unit. */
  readonly clientCpu?: number;
  readonly serverCpu?: number;
  /** Quartiles of the CPU time of both processes over the rounds. */
  readonly cpuQuartiles?: Quartiles;
  /** Latencies of single calls, in ms. */
  readonly latency?: Latency;
  /** Maximum memory in MB (2²⁰ bytes). */
  readonly clientPeak?: number;
  readonly serverPeak?: number;
  /** Percent of all calls of all rounds. */
  readonly errors?: number;
  readonly failed?: string;
}

export function rowOf(head: Pick<Row, "workload" | "contestant" | "unit">, measured: readonly Measurement[]): Row {
  const of = (digits: number, pick: (one: Measurement) => number): number => round(median(measured.map(pick)), digits);
  const total = (pick: (one: Measurement) => number): number => measured.reduce((sum, one) => sum + pick(one), 0);
  const between = (digits: number, pick: (one: Measurement) => number): Quartiles => {
    const [low, high] = quartiles(measured.map(pick));
    return [round(low, digits), round(high, digits)];
  };
  const perSecond = ({ amount, seconds }: Measurement): number => amount / seconds;
  const latency = (quantile: keyof Latency): number => of(3, (one) => one.latency?.[quantile] ?? 0);
  return {
    ...head,
    rounds: measured.length,
    perSecond: of(0, perSecond),
    perSecondQuartiles: between(0, perSecond),
    clientCpu: of(2, ({ clientCpu }) => clientCpu),
    serverCpu: of(2, ({ serverCpu }) => serverCpu),
    cpuQuartiles: between(2, ({ clientCpu, serverCpu }) => clientCpu + serverCpu),
    ...(measured[0]?.latency && { latency: { p50: latency("p50"), p95: latency("p95"), p99: latency("p99") } }),
    clientPeak: Math.round(Math.max(...measured.map(({ peakMegabytes }) => peakMegabytes))),
    serverPeak: Math.round(Math.max(...measured.map(({ serverPeakMegabytes }) => serverPeakMegabytes))),
    errors: round((100 * total(({ errors }) => errors)) / total(({ amount }) => amount), 2),
  };
}

export interface Machine {
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly system: string;
}

export function machine(): Machine {
  const all = cpus();
  return {
    node: process.version,
    cpu: all[0]?.model ?? "unknown",
    cores: all.length,
    system: `${type()} ${release()}`,
  };
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
