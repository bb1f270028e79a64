// Calls over loopback, contestants interleaved round by round. Usage: main.js [--rounds N] [--json]
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { contestants } from "./contestants/index.js";
import { type Measurement, pinned, ProcessPair } from "./process-pair.js";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "15" }, json: { type: "boolean", default: false } },
});
const rounds = Number(values.rounds);
const WARM_UP = 4;

/** Calls per round: many short rounds, so that what disturbs the machine disturbs all contestants alike. */
const workloads = [
  { name: "sequential", calls: 3_000, inFlight: 1 },
  { name: "64 in flight", calls: 30_000, inFlight: 64 },
];

const results = workloads.map(({ name }) => ({ workload: name, measured: contestants.map((): Measurement[] => []) }));

const pairs = await Promise.all(contestants.map((contestant) => ProcessPair.start(contestant)));
try {
  for (let round = -WARM_UP; round < rounds; round++) {
    if (process.stderr.isTTY) process.stderr.write(round < 0 ? "warming up\r" : `round ${round + 1} of ${rounds}\r`);
    for (const [w, { calls, inFlight }] of workloads.entries()) {
      for (const [c, pair] of pairs.entries()) {
        const measurement = await pair.measure(calls, inFlight);
        if (round >= 0) results[w]?.measured[c]?.push(measurement);
      }
    }
  }
} finally {
  for (const pair of pairs) pair.stop();
}

const rows = results.flatMap(({ workload, measured }) =>
  measured.map((all, c) => ({
    workload,
    contestant: contestants[c]?.name ?? "",
    callsPerSecond: Math.round(median(all.map((one) => one.callsPerSecond))),
    cpuMicrosPerCall: Number(median(all.map((one) => one.cpuMicrosPerCall)).toFixed(1)),
  })),
);

const placement = pinned ? "server and client on a core each" : "server and client not pinned to cores";
if (values.json) {
  console.log(
    JSON.stringify(
      { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, pinned, rounds, rows },
      null,
      2,
    ),
  );
} else {
  console.log(
    `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, ${rounds} rounds, medians; ${placement}\n`,
  );
  console.log("| workload | | calls/s | CPU µs/call, both processes | calls per CPU second against grpc-js |");
  console.log("|---|---|---:|---:|---:|");
  for (const row of rows) {
    const grpc = rows.find(({ workload, contestant }) => workload === row.workload && contestant === "@grpc/grpc-js");
    const ratio = ((grpc?.cpuMicrosPerCall ?? Number.NaN) / row.cpuMicrosPerCall).toFixed(1);
    console.log(
      `| ${row.workload} | ${row.contestant} | ${row.callsPerSecond.toLocaleString("en")} | ${row.cpuMicrosPerCall} | ${ratio}x |`,
    );
  }
}

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
}
