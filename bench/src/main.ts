// Calls over loopback, contestants interleaved round by round: `npm run bench -- --help`.
import { parseArgs } from "node:util";
import { temporaryCertificate } from "./certificate.js";
import { compare } from "./compare.js";
import { foreignNames, foreignPeer } from "./foreign.js";
import { fullRun, readResults, writeDocs } from "./full.js";
import { isQuick, matches, nodePeers, type Peer, peersOnNode, type Skipped } from "./peers.js";
import { planOf } from "./plan.js";
import { pinned } from "./process-pair.js";
import { FLOOR } from "./report/results.js";
import { tables } from "./report/tables.js";
import { machine, type Row } from "./rows.js";
import { workloads } from "./workloads.js";

const { values } = parseArgs({
  options: {
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    full: { type: "boolean", default: false },
    "write-docs": { type: "boolean", default: false },
    from: { type: "string" },
    only: { type: "string", multiple: true },
    against: { type: "string", multiple: true },
    node: { type: "string", multiple: true },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  console.log(`Compares quicrpc with other RPC libraries over loopback, TLS 1.3 everywhere but over plain TCP. Without options all
workloads, planned for a quarter of an hour: of every contestant, or of the nearest.

  --quick             the most telling workloads and contestants, 3 rounds: under 3 minutes
  --full              everything, memory, growth, bad networks and the pieces as well, also on Node 26
  --write-docs        with --full: writes docs/benchmarks.md, its plots, tables and results, and README.md's numbers
  --from FILE         writes the page again from such results, without a run
  --rounds N          rounds per workload, medians are reported (default 7; 11 with --only or --against)
  --only TEXT         workloads whose name has TEXT, of every contestant, and with --full "growth"; may be repeated
  --against TEXT      contestants whose name has TEXT; may be repeated
  --node PATH|MAJOR   quicrpc and the floor on another Node as well; may be repeated
  --json              for scripts

Workloads: ${workloads.map(({ name }) => name).join("; ")}
Contestants: ${[...nodePeers.map(({ name }) => name), ...foreignNames].join("; ")}`);
  process.exit(0);
}

// Namespaces and folders outlive their process: whatever ends this one takes them down.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

if (values.from !== undefined) {
  writeDocs(readResults(values.from));
  process.exit();
}

const QUICK = { rounds: 3, warmUpSeconds: 0.5, budgetMs: 8_000 };
const THOROUGH = { rounds: 11, warmUpSeconds: 1, budgetMs: 60_000 };

const skipped: string[] = [];
const peers = present();
const certificate = await temporaryCertificate();
if (values.full) {
  const command = `npm run bench -- ${process.argv.slice(2).map(quoted).join(" ")}`;
  const results = await fullRun({ peers, certificate, skipped, command, only: values.only });
  if (values["write-docs"]) writeDocs(results);
  else console.log(JSON.stringify(results, null, 2));
} else {
  await run();
}

/** Returns the selected contestants that are available, and prints why others are not. */
function present(): Peer[] {
  const wanted = (name: string): boolean => matches(name, values.against) && (!values.quick || isQuick(name));
  const nodes = values.node ?? (values.full ? ["26"] : []);
  const found: (Peer | Skipped)[] = [
    ...nodePeers.filter(({ name }) => wanted(name)),
    ...foreignNames.filter(wanted).map(foreignPeer),
    ...nodes.flatMap(peersOnNode).filter(({ name }) => wanted(name)),
  ];
  return found.flatMap((peer) => {
    if ("command" in peer) return [peer];
    skipped.push(`${peer.name}: ${peer.skipped}`);
    console.error(`skipped: ${skipped.at(-1)}`);
    return [];
  });
}

async function run(): Promise<void> {
  const chosen = workloads.filter(({ quick, name }) => (!values.quick || quick) && matches(name, values.only));
  const rows: Row[] = [];
  const chooses = values.quick || values.only !== undefined || values.against !== undefined;
  for (const workload of chosen) {
    const { pace, peers: joining } = chooses
      ? { peers, pace: values.quick ? QUICK : THOROUGH }
      : planOf(workload, peers);
    const chosenRounds = values.rounds === undefined ? {} : { rounds: Number(values.rounds) };
    rows.push(...(await compare(workload, joining, { certificate, ...pace, ...chosenRounds })));
  }
  const rounds = Math.max(0, ...rows.map((row) => row.rounds));
  if (values.json) {
    console.log(JSON.stringify({ ...machine(), pinned, rounds, rows }, null, 2));
    return;
  }
  const { node, cpu, cores } = machine();
  const pinning = pinned ? "" : "; processes could not be pinned to cores (no taskset)";
  console.log(`Node ${node}, ${cores} x ${cpu}, medians of up to ${rounds} rounds${pinning}\n`);
  console.log(tables(rows, FLOOR));
}

function quoted(argument: string): string {
  return /\s/.test(argument) ? `"${argument}"` : argument;
}
