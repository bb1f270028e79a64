import type { Row } from "../rows.js";

/** Returns a Markdown table for each workload; rates are relative to one contestant's. */
export function tables(rows: readonly Row[], compareWith: string): string {
  const workloads = [...new Set(rows.map(({ workload }) => workload))];
  return workloads.map((workload) => table(workload, rows, compareWith)).join("\n\n");
}

function table(workload: string, all: readonly Row[], compareWith: string): string {
  const rows = all.filter((row) => row.workload === workload);
  const against = rows.find(({ contestant }) => contestant === compareWith)?.perSecond;
  const unit = rows[0]?.unit ?? "";
  const lines = rows.map((row) => {
    if (row.failed !== undefined) return `| ${row.contestant} | failed: ${row.failed} | | | | | |`;
    const { perSecond = 0, clientCpu = 0, serverCpu = 0, latency, clientPeak, serverPeak } = row;
    const cells = [
      row.contestant,
      perSecond.toLocaleString("en"),
      against === undefined ? "" : (perSecond / against).toFixed(2),
      `${digits(clientCpu + serverCpu)} (${digits(clientCpu)} + ${digits(serverCpu)})`,
      latency === undefined ? "" : [latency.p50, latency.p95, latency.p99].map(digits).join(" / "),
      `${clientPeak} / ${serverPeak}`,
      row.errors === 0 ? "" : `${row.errors}%`,
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    `**${workload}**\n`,
    `| | ${unit}/s | ${compareWith} = 1 | CPU µs each (client + server) | p50 / p95 / p99 ms | peak MB, client / server | errors |`,
    "|---|---:|---:|---:|---:|---:|---:|",
    ...lines,
  ].join("\n");
}

/** Formats three digits, which is more than the precision of these measurements. */
function digits(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}
