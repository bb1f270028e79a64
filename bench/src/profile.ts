// Shows how both processes together spend the CPU time of a call: `npm run bench profile -- --help`.
import { parseArgs } from "node:util";
import { temporaryCertificate } from "./certificate.js";
import { byPart } from "./cpu-parts.js";
import { CpuSamples, perfObstacle } from "./cpu-samples.js";
import { nodePeers, type Peer } from "./peers.js";
import { ProcessPair } from "./process-pair.js";
import { progress } from "./progress.js";
import { type Workload, workloads } from "./workloads.js";

const { values } = parseArgs({
  options: {
    only: {
      type: "string",
      multiple: true,
      default: ["sequential, both", "64 in flight", "echo 64 KiB", "stream of small"],
    },
    against: { type: "string", multiple: true, default: ["quicrpc, lane", "quicrpc, stream"] },
    seconds: { type: "string", default: "3" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  console.log(`Samples both processes with Linux's perf while a workload runs, and says what their time was spent on.
Functions of the engine have names only if it was built with them: CARGO_PROFILE_RELEASE_STRIP=none.

  --only TEXT         workloads whose name has TEXT; may be repeated
  --against TEXT      contestants whose name has TEXT; may be repeated
  --seconds N         how long each is sampled (default 3)`);
  process.exit(0);
}

const obstacle = perfObstacle();
if (obstacle !== undefined) {
  console.error(obstacle);
  process.exit(1);
}

const certificate = await temporaryCertificate();
const matches = (name: string, texts: readonly string[]): boolean => texts.some((text) => name.includes(text));
for (const workload of workloads.filter(({ name }) => matches(name, values.only))) {
  for (const peer of nodePeers.filter(({ name }) => matches(name, values.against))) {
    console.log(await profile(peer, workload, Number(values.seconds)));
  }
}

async function profile(peer: Peer, workload: Workload, seconds: number): Promise<string> {
  progress(`${workload.name}: ${peer.name}`);
  const [node = "", ...rest] = peer.command;
  const named = { ...peer, command: [node, "--perf-basic-prof", ...rest] };
  const pair = await ProcessPair.start(named, workload, { certificate });
  if (pair === undefined) return "";
  try {
    // Warm: what is compiled while it is sampled says nothing of a server that has run for a minute.
    const until = performance.now() + 2000;
    let amount = 0;
    while (performance.now() < until) {
      const { seconds: took } = await pair.measure(workload.task, workload.amount);
      amount = Math.ceil((workload.amount / took) * seconds);
    }
    const samples = await CpuSamples.start([pair.client.pid, pair.server.pid]);
    const { clientCpu, serverCpu } = await pair.measure(workload.task, amount);
    const cpu = clientCpu + serverCpu;
    const lines = byPart(await samples.stop()).map(
      ({ name, share }) => `| ${name} | ${(share * cpu).toFixed(cpu < 10 ? 2 : 1)} | ${Math.round(share * 100)}% |`,
    );
    progress();
    return [
      `**${workload.name}: ${peer.name}**, ${cpu.toFixed(2)} µs of CPU for each of the ${workload.unit}\n`,
      "| | µs | |\n|---|---:|---:|",
      ...lines,
      "",
    ].join("\n");
  } finally {
    pair.stop();
  }
}
