// Calls over loopback, contestants interleaved round by round: `npm run bench -- --help`.
import { parseArgs } from "node:util";
import { temporaryCertificate } from "./certificate.js";
import { compare } from "./compare.js";
import { foreignNames, foreignPeer } from "./foreign.js";
import { nodePeers, peersOnNode, present } from "./peers.js";
import { pinned } from "./process-pair.js";
import { machine, type Row } from "./rows.js";
import { tables } from "./tables.js";
import { workloads } from "./workloads.js";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "11" },
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true },
    against: { type: "string", multiple: true },
    node: { type: "string", multiple: true, default: [] },
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
  --node PATH|MAJOR   quicrpc and the floor on another Node as well; may be repeated
  --json              for scripts

Workloads: ${workloads.map(({ name }) => name).join("; ")}
Contestants: ${[...nodePeers.map(({ name }) => name), ...foreignNames].join("; ")}`);
  process.exit(0);
}

const matches = (name: string, texts: readonly string[] | undefined): boolean =>
  texts === undefined || texts.some((text) => name.includes(text));
const wanted = (name: string): boolean => matches(name, values.against);
const peers = present([
  ...nodePeers.filter(({ name }) => wanted(name)),
  ...foreignNames.filter(wanted).map(foreignPeer),
  ...values.node.flatMap(peersOnNode).filter(({ name }) => wanted(name)),
]);
const options = {
  certificate: await temporaryCertificate(),
  rounds: values.quick ? 3 : Number(values.rounds),
  budgetMs: values.quick ? 12_000 : 30_000,
};
const chosen = workloads.filter((workload) => (!values.quick || workload.quick) && matches(workload.name, values.only));
const rows: Row[] = [];
for (const workload of chosen) rows.push(...(await compare(workload, peers, options)));

if (values.json) {
  console.log(JSON.stringify({ ...machine(), pinned, rounds: options.rounds, rows }, null, 2));
} else {
  const { node, cpu, cores } = machine();
  const pinning = pinned ? "" : "; processes could not be pinned to cores (no taskset)";
  console.log(`Node ${node}, ${cores} x ${cpu}, medians of ${options.rounds} rounds${pinning}\n`);
  console.log(tables(rows, "floor: msgpackr over TLS"));
}
