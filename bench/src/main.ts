// Calls over loopback, contestants interleaved round by round: `node dist/main.js --help`.
import { parseArgs } from "node:util";
import { contestantNamed, contestants } from "./contestants/index.js";
import { type Measurement, pinned, ProcessPair } from "./process-pair.js";
import { machine, type Row, rowOf, tables } from "./report.js";
import { type Workload, workloads } from "./workloads.js";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "11" },
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true },
    against: { type: "string", multiple: true },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  console.log(`Compares quicrpc with other RPC libraries over loopback, TLS 1.3 everywhere but over plain TCP.

  --quick             the most telling workloads, 3 rounds: under 3 minutes
  --rounds N          rounds per workload, medians are reported (default 11)
  --only TEXT         workloads whose name has TEXT; may be repeated
  --against TEXT      contestants whose name has TEXT; may be repeated
  --json              for scripts

Workloads: ${workloads.map(({ name }) => name).join("; ")}
Contestants: ${contestants.map(({ name }) => name).join("; ")}`);
  process.exit(0);
}

const rounds = values.quick ? 3 : Number(values.rounds);
const matches = (name: string, texts: readonly string[] | undefined): boolean =>
  texts === undefined || texts.some((text) => name.includes(text));
const chosen = workloads.filter((workload) => (!values.quick || workload.quick) && matches(workload.name, values.only));
const rows: Row[] = [];
for (const workload of chosen) rows.push(...(await compare(workload)));

if (values.json) {
  console.log(JSON.stringify({ ...machine(), pinned, rounds, rows }, null, 2));
} else {
  const { node, cpu, cores } = machine();
  const pinning = pinned ? "" : "; processes could not be pinned to cores (no taskset)";
  console.log(`Node ${node}, ${cores} x ${cpu}, medians of ${rounds} rounds${pinning}\n`);
  console.log(tables(rows, "floor: msgpackr over TLS"));
}

/** One workload, every contestant in turn, round by round. */
async function compare(workload: Workload): Promise<Row[]> {
  const entries: { name: string; pair: ProcessPair; measured: Measurement[]; amount: number; failed?: string }[] = [];
  try {
    for (const { name } of contestants.filter((contestant) => matches(contestant.name, values.against))) {
      const pair = await ProcessPair.start(contestantNamed(name), workload);
      if (pair !== undefined) entries.push({ name, pair, measured: [], amount: workload.amount });
    }
    for (let round = -2; round < rounds; round++) {
      if (process.stderr.isTTY)
        process.stderr.write(`\r\x1b[K${workload.name}: ${round < 0 ? "warming up" : round + 1}`);
      for (const entry of entries) {
        if (entry.failed !== undefined) continue;
        try {
          if (round === -2) {
            entry.amount = await sizeOfRound(workload, entry.pair);
          } else {
            const measurement = await entry.pair.measure(entry.amount);
            if (round >= 0) entry.measured.push(measurement);
          }
        } catch (error) {
          entry.failed = String(error);
        }
      }
    }
  } finally {
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
    for (const { pair } of entries) pair.stop();
  }
  return entries.map(({ name, measured, failed }) => {
    const head = { workload: workload.name, contestant: name, unit: workload.unit };
    return failed === undefined ? rowOf(head, measured) : { ...head, rounds: measured.length, failed };
  });
}

/** Less than the workload's amount for a contestant that would take more than a second. */
async function sizeOfRound({ amount, fixed }: Workload, pair: ProcessPair): Promise<number> {
  if (fixed) return amount;
  const sample = Math.ceil(amount / 50);
  const { perSecond } = await pair.measure(sample);
  return Math.max(sample, Math.min(amount, Math.ceil(perSecond)));
}
