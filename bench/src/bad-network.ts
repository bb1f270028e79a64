// Calls over a simulated bad network, TCP and QUIC alike: `npm run bench link -- --help`.
import { parseArgs } from "node:util";
import { temporaryCertificate } from "./certificate.js";
import { farTables, overLinks } from "./far.js";
import { foreignNames, foreignPeer } from "./foreign.js";
import { type Held, holdOverLoss } from "./link-guard.js";
import { linkObstacle } from "./link.js";
import { isFar, matches, nodePeers } from "./peers.js";
import { machine } from "./rows.js";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "20" },
    rtt: { type: "string", default: "16" },
    only: { type: "string", multiple: true },
    against: { type: "string", multiple: true },
    guard: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  console.log(`Compares quicrpc with others over a simulated link: delay, loss, loss in bursts, a short queue. Needs root.

  --rounds N          rounds per workload (default 20)
  --rtt MS            round trip (default 16)
  --only TEXT         links and workloads whose name has TEXT; may be repeated
  --against TEXT      contestants whose name has TEXT; may be repeated
  --guard             quicrpc alone: fails when a batch of calls takes a tenth longer with 3% lost than without
  --json              for scripts`);
  process.exit(0);
}

const obstacle = linkObstacle();
if (obstacle !== undefined) {
  console.error(obstacle);
  process.exit(1);
}

// Namespaces outlive their process: whatever ends this one takes them down.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const rounds = Number(values.rounds);
const options = {
  certificate: await temporaryCertificate(),
  rounds,
  rtt: Number(values.rtt),
  budgetMs: 20_000,
  chosen: (name: string): boolean => matches(name, values.only),
};
if (values.guard) process.exit(await guard());
const wanted = (name: string): boolean => isFar(name) && matches(name, values.against);
const foreign = foreignNames.filter(wanted).map(foreignPeer);
for (const peer of foreign) if ("skipped" in peer) console.error(`skipped: ${peer.name}: ${peer.skipped}`);
const peers = [...nodePeers.filter(({ name }) => wanted(name)), ...foreign.filter((peer) => "command" in peer)];
const rows = await overLinks(peers, options);
if (values.json) {
  console.log(JSON.stringify({ ...machine(), rows }, null, 2));
} else {
  const { node, cpu, cores } = machine();
  console.log(`Node ${node}, ${cores} x ${cpu}, ${values.rounds} rounds\n\n${farTables(rows)}`);
}

/** Prints the results of the guard and returns the exit code. */
async function guard(): Promise<number> {
  const peer = nodePeers.find(({ name }) => name === "quicrpc");
  if (peer === undefined) throw new Error("quicrpc is not among the contestants");
  const held = await holdOverLoss(peer, options);
  if (values.json) console.log(JSON.stringify({ ...machine(), held }, null, 2));
  else for (const one of held) console.log(line(one));
  return held.every(({ good }) => good) ? 0 : 1;
}

function line({ name, clearMs, lostMs, ratio, good }: Held): string {
  const figures = ratio === undefined ? "failed" : `${clearMs} ms, with 3% lost ${lostMs} ms: ${ratio.toFixed(2)}x`;
  return `${good ? "ok    " : "FAILED"} ${name}: ${figures}`;
}
