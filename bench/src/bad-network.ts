// Calls over a simulated bad network, TCP and QUIC alike: `npm run bench:link -- --help`.
import { parseArgs } from "node:util";
import { temporaryCertificate } from "./certificate.js";
import { farTables, overLinks } from "./far.js";
import { foreignNames, foreignPeer } from "./foreign.js";
import { linkObstacle } from "./link.js";
import { isFar, matches, nodePeers } from "./peers.js";
import { machine } from "./rows.js";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "20" },
    rtt: { type: "string", default: "16" },
    only: { type: "string", multiple: true },
    against: { type: "string", multiple: true },
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
const wanted = (name: string): boolean => isFar(name) && matches(name, values.against);
const foreign = foreignNames.filter(wanted).map(foreignPeer);
for (const peer of foreign) if ("skipped" in peer) console.error(`skipped: ${peer.name}: ${peer.skipped}`);
const peers = [...nodePeers.filter(({ name }) => wanted(name)), ...foreign.filter((peer) => "command" in peer)];
const rows = await overLinks(peers, {
  certificate: await temporaryCertificate(),
  rounds: Number(values.rounds),
  rtt: Number(values.rtt),
  budgetMs: 20_000,
  chosen: (name) => matches(name, values.only),
});
if (values.json) {
  console.log(JSON.stringify({ ...machine(), rows }, null, 2));
} else {
  const { node, cpu, cores } = machine();
  console.log(`Node ${node}, ${cores} x ${cpu}, ${values.rounds} rounds\n\n${farTables(rows)}`);
}
