// Calls over a simulated bad network, TCP and QUIC alike: `npm run bench:link -- [--rounds N] [--against TEXT] [--json]`.
import { parseArgs } from "node:util";
import { contestants } from "./contestants/index.js";
import { ADDRESS, Link, linkObstacle, type LinkSettings } from "./link.js";
import { type Prefix, ProcessPair } from "./process-pair.js";
import { machine, median } from "./report.js";
import { farWorkloads, slowWorkload, type Workload } from "./workloads.js";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    against: { type: "string", multiple: true, default: ["quicrpc", "grpc-js", "capnweb", "over TLS"] },
    json: { type: "boolean", default: false },
  },
});

/** Of one contestant in one workload on one link: the time of a round in ms, and packets the queue dropped. */
interface Row {
  readonly link: string;
  readonly workload: string;
  readonly contestant: string;
  readonly meanMs: number;
  readonly p95Ms: number;
  readonly droppedPercent: number;
}

const FAR: LinkSettings = { delay: 8 };
const links: readonly (readonly [string, LinkSettings, readonly Workload[]])[] = [
  ...[0, 1, 3].map((loss) => [`16 ms, ${loss}% lost`, { ...FAR, loss }, farWorkloads] as const),
  ["16 ms, 3% lost in bursts of 3", { ...FAR, loss: 3, burst: 3 }, farWorkloads],
  ["16 ms, 20 Mbit/s, queue of 50 packets", { ...FAR, rate: 20, queue: 50 }, [slowWorkload]],
];

const obstacle = linkObstacle();
if (obstacle !== undefined) {
  console.error(obstacle);
  process.exit(1);
}

// Namespaces outlive their process: whatever ends this one takes them down.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const rows: Row[] = [];
for (const [name, settings, workloads] of links) {
  for (const workload of workloads) {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${name}: ${workload.name}`);
    rows.push(...(await compare(name, settings, workload)));
  }
}
if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
if (values.json) console.log(JSON.stringify({ ...machine(), rounds: Number(values.rounds), rows }, null, 2));
else print();

/** Every contestant over a link of its own, the links alike, round by round. */
async function compare(link: string, settings: LinkSettings, workload: Workload): Promise<Row[]> {
  const found: Row[] = [];
  const chosen = contestants.filter(({ name }) => values.against.some((text) => name.includes(text)));
  const over = await Link.up(FAR);
  try {
    for (const contestant of chosen) {
      over.set({ ...FAR, loss: 0, burst: 1, rate: 0, queue: 1000 });
      const prefix: Prefix = (role) => over.at(role === "server" ? "a" : "b");
      const pair = await ProcessPair.start(contestant, workload, { prefix, host: ADDRESS });
      if (pair === undefined) continue;
      try {
        await pair.measure();
        over.set({ ...settings, seed: 7 });
        over.traffic();
        const times: number[] = [];
        for (let round = 0; round < Number(values.rounds); round++) times.push((await pair.measure()).seconds * 1000);
        const { ab, ba } = over.traffic();
        found.push({
          link,
          workload: workload.name,
          contestant: contestant.name,
          meanMs: Number((times.reduce((sum, time) => sum + time, 0) / times.length).toFixed(1)),
          p95Ms: Number((times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? median(times)).toFixed(1)),
          droppedPercent: Number(((100 * (ab.dropped + ba.dropped)) / (ab.seen + ba.seen)).toFixed(2)),
        });
      } finally {
        pair.stop();
      }
    }
  } finally {
    over.down();
  }
  return found;
}

function print(): void {
  const { node, cpu, cores } = machine();
  console.log(`Node ${node}, ${cores} x ${cpu}, ${values.rounds} rounds\n`);
  console.log("| link | | | mean ms | p95 ms | dropped by the queue |");
  console.log("|---|---|---|---:|---:|---:|");
  for (const { link, workload, contestant, meanMs, p95Ms, droppedPercent } of rows) {
    console.log(`| ${link} | ${workload} | ${contestant} | ${meanMs} | ${p95Ms} | ${droppedPercent}% |`);
  }
}
