import { cpus } from "node:os";
import type { Measurement } from "./process-pair.js";

/** One contestant in one workload: medians over the rounds, or why there are none. */
export interface Row {
  readonly workload: string;
  readonly contestant: string;
  readonly unit: string;
  readonly rounds: number;
  readonly perSecond?: number;
  readonly cpuMicros?: number;
  readonly p50?: number;
  readonly p95?: number;
  readonly p99?: number;
  readonly peakMegabytes?: number;
  readonly failed?: string;
}

export function rowOf(head: Pick<Row, "workload" | "contestant" | "unit">, measured: readonly Measurement[]): Row {
  const of = (pick: (one: Measurement) => number): number => median(measured.map(pick));
  const latency = (quantile: "p50" | "p95" | "p99"): { [name: string]: number } =>
    measured[0]?.latency === undefined
      ? {}
      : {
          [quantile]: round(
            of((one) => one.latency?.[quantile] ?? 0),
            3,
          ),
        };
  return {
    ...head,
    rounds: measured.length,
    perSecond: round(
      of((one) => one.perSecond),
      0,
    ),
    cpuMicros: round(
      of((one) => one.cpuMicros),
      2,
    ),
    ...latency("p50"),
    ...latency("p95"),
    ...latency("p99"),
    peakMegabytes: Math.max(...measured.map((one) => Math.max(one.peakMegabytes, one.serverPeakMegabytes))),
  };
}

export function machine(): { node: string; cpu: string; cores: number } {
  return { node: process.version, cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length };
}

/** A Markdown table for each workload. */
export function tables(rows: readonly Row[], compareWith: string): string {
  const workloads = [...new Set(rows.map(({ workload }) => workload))];
  return workloads.map((workload) => table(workload, rows, compareWith)).join("\n\n");
}

function table(workload: string, all: readonly Row[], compareWith: string): string {
  const rows = all.filter((row) => row.workload === workload);
  const against = rows.find(({ contestant }) => contestant === compareWith)?.perSecond;
  const unit = rows[0]?.unit ?? "";
  const lines = rows.map((row) => {
    if (row.failed !== undefined) return `| ${row.contestant} | failed: ${row.failed} | | | | |`;
    const { perSecond = 0, cpuMicros = 0, p50, p99, peakMegabytes = 0 } = row;
    const ratio = against === undefined ? "" : (perSecond / against).toFixed(2);
    const times = p50 === undefined ? "" : `${p50} / ${p99}`;
    return `| ${row.contestant} | ${perSecond.toLocaleString("en")} | ${ratio} | ${cpuMicros} | ${times} | ${peakMegabytes} |`;
  });
  return [
    `**${workload}**\n`,
    `| | ${unit}/s | ${compareWith} = 1 | CPU µs each | p50 / p99 ms | peak MB |`,
    "|---|---:|---:|---:|---:|---:|",
    ...lines,
  ].join("\n");
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
