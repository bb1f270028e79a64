// Calls over loopback, contestants interleaved round by round. Usage: main.js [--rounds N] [--json]
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { contestants } from "./contestants/index.js";
import { type Measurement, pinned, ProcessPair } from "./process-pair.js";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "11" }, json: { type: "boolean", default: false } },
});
const rounds = Number(values.rounds);
const WARM_UP = 4;

interface Workload {
  readonly name: string;
  /** Per round: many short rounds, so that what disturbs the machine disturbs all contestants alike. */
  readonly calls: number;
  readonly inFlight: number;
  /** Of server and client. */
  readonly cores: readonly [number, number];
}

const workloads: readonly Workload[] = [
  { name: "sequential, both on one core", calls: 3_000, inFlight: 1, cores: [0, 0] },
  { name: "sequential, a core each", calls: 3_000, inFlight: 1, cores: [0, 1] },
  { name: "64 in flight, a core each", calls: 30_000, inFlight: 64, cores: [0, 1] },
];

/** One contestant in one workload, with its two processes. */
interface Entry {
  readonly workload: Workload;
  readonly contestant: string;
  readonly pair: ProcessPair;
  readonly measured: Measurement[];
}

const entries: Entry[] = [];
try {
  for (const workload of workloads) {
    for (const contestant of contestants) {
      const pair = await ProcessPair.start(contestant, workload.cores);
      entries.push({ workload, contestant: contestant.name, pair, measured: [] });
    }
  }
  for (let round = -WARM_UP; round < rounds; round++) {
    if (process.stderr.isTTY) process.stderr.write(round < 0 ? "warming up\r" : `round ${round + 1} of ${rounds}\r`);
    for (const { workload, pair, measured } of entries) {
      const measurement = await pair.measure(workload.calls, workload.inFlight);
      if (round >= 0) measured.push(measurement);
    }
  }
} finally {
  for (const { pair } of entries) pair.stop();
}

const rows = entries.map(({ workload, contestant, measured }) => ({
  workload: workload.name,
  contestant,
  callsPerSecond: Math.round(median(measured.map((one) => one.callsPerSecond))),
  cpuMicrosPerCall: Number(median(measured.map((one) => one.cpuMicrosPerCall)).toFixed(1)),
}));
const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, pinned, rounds };

if (values.json) console.log(JSON.stringify({ ...machine, rows }, null, 2));
else printTable();

function printTable(): void {
  const pinning = pinned ? "" : "; processes could not be pinned to cores (no taskset)";
  console.log(`Node ${machine.node}, ${machine.cores} x ${machine.cpu}, medians of ${rounds} rounds${pinning}\n`);
  console.log("| | | calls/s | CPU µs per call | calls per CPU second, grpc-js = 1 |");
  console.log("|---|---|---:|---:|---:|");
  for (const { workload, contestant, callsPerSecond, cpuMicrosPerCall } of rows) {
    const grpc = rows.find((row) => row.workload === workload && row.contestant === "@grpc/grpc-js");
    const ratio = ((grpc?.cpuMicrosPerCall ?? Number.NaN) / cpuMicrosPerCall).toFixed(1);
    const rate = callsPerSecond.toLocaleString("en");
    console.log(`| ${workload} | ${contestant} | ${rate} | ${cpuMicrosPerCall} | ${ratio} |`);
  }
}

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
}
