// node bench/workers.mjs: small calls to servers of one process, of workers and of threads, in turn: CPU of the servers for each call, and memory of each worker. `--rounds 9 --seconds 2 --write-docs`
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { parseArgs } from "node:util";
import { table, writePlaces } from "../scripts/docs.mjs";
import { root, setup } from "../scripts/setup.mjs";
import { median } from "./paired-statistics.mjs";

const SESSIONS = 16;
const CALLS = 16;
/** USER_HZ, which Linux has fixed for programs. */
const TICKS = 100;
const MIB = 1024;
const KINDS = {
  "one process, no workers": { workers: undefined },
  "1 worker": { workers: 1 },
  "2 workers": { workers: 2 },
  "4 workers": { workers: 4 },
  "1 worker, to which the primary hands packets": { workers: 1, steering: "relay" },
  "2 workers, likewise": { workers: 2, steering: "relay" },
  "4 workers, likewise": { workers: 4, steering: "relay" },
  "1 thread": { threads: 1 },
  "2 threads": { threads: 2 },
  "4 threads": { threads: 4 },
};

const service = { name: "bench.v1.Workers", id: 7303 };

if (!isMainThread) await serveInThread();
else if (process.send !== undefined) await serveInProcess();
else await measure();

async function routers() {
  const { createRouter, defineMethod, uncheckedCodec } = await import("@quicrpc/core/generated");
  const any = uncheckedCodec();
  const echo = defineMethod(service, "unary", "echo", { id: 1, input: any, output: any });
  return { echo, routers: [createRouter({ echo }, { echo: (text) => text })] };
}

/** A server as its kind says, in a process that this file has forked, or in a worker of that. */
async function serveInProcess() {
  const { workers, threads } = JSON.parse(process.argv[2]);
  const { devCertificate, serve } = await import("@quicrpc/node");
  const { cert, key } = await devCertificate();
  if (threads === undefined) {
    const options = { listen: "quic://127.0.0.1:0", tls: { cert, key }, routers: (await routers()).routers };
    const server = await serve({ ...options, ...(workers !== undefined && { workers }) });
    if (workers === undefined || server.group !== undefined) {
      process.send({ url: server.urls[0], pids: server.group?.pids() ?? [process.pid] });
    }
    return;
  }
  const { PortGroup } = await import("@quicrpc/quic");
  const group = PortGroup.bind({ host: "127.0.0.1", places: threads });
  const all = group.members.map(
    (member) => new Worker(new URL(import.meta.url), { workerData: { member, cert, key } }),
  );
  await Promise.all(all.map((thread) => once(thread, "message")));
  process.send({ url: `quic://127.0.0.1:${group.port}`, pids: [process.pid] });
}

async function serveInThread() {
  const { member, cert, key } = workerData;
  const { createSession } = await import("@quicrpc/core");
  const { Endpoint } = await import("@quicrpc/quic");
  const { routers: served } = await routers();
  const endpoint = Endpoint.bind({ member });
  endpoint.listen({ alpn: ["quicrpc/1"], tls: { cert, key } }, (transport) =>
    createSession(transport, { routers: served }),
  );
  parentPort.postMessage("ready");
}

async function measure() {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "7" },
      seconds: { type: "string", default: "1.5" },
      "write-docs": { type: "boolean", default: false },
    },
  });
  await setup();
  const { devCertificate, dial } = await import("@quicrpc/node");
  const { hash } = await devCertificate();
  const { echo } = await routers();
  const servers = [];
  for (const [name, kind] of Object.entries(KINDS)) {
    const env = { ...process.env, QUICRPC_STEERING: kind.steering ?? "kernel" };
    const child = fork(new URL(import.meta.url), [JSON.stringify(kind)], { execArgv: ["--no-warnings"], env });
    const [{ url, pids }] = await once(child, "message");
    const idle = pids.map(memory);
    const sessions = await Promise.all(
      Array.from({ length: SESSIONS }, () => dial(url, { serverCertificateHashes: [hash] })),
    );
    servers.push({ name, kind, child, pids, idle, sessions, runs: [] });
  }
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const { child, pids, sessions, runs } of servers) {
      const run = await load([...new Set([child.pid, ...pids])], sessions, echo, Number(values.seconds));
      // The first one warms up.
      if (round > 0) runs.push(run);
    }
  }
  const [base] = servers;
  const rows = servers.map(({ name, kind, idle, runs, pids }) => {
    const ratio = (of) => median(runs.map((run, at) => of(run) / of(base.runs[at])));
    const count = kind.threads ?? pids.length;
    return {
      name,
      cpu: median(runs.map(({ cpuMicros }) => cpuMicros)),
      cpuRatio: ratio(({ cpuMicros }) => cpuMicros),
      rateRatio: ratio(({ rate }) => rate),
      own: idle.reduce((sum, { own }) => sum + own, 0) / count,
      resident: idle.reduce((sum, { resident }) => sum + resident, 0) / count,
    };
  });
  const text = table(
    [
      "| | CPU of the server for a call | of one process's | calls per second, of one process's | memory of each at rest: its own, resident |",
      "|---|---:|---:|---:|---:|",
    ],
    rows.map(({ name, cpu, cpuRatio, rateRatio, own, resident }) => [
      name,
      `${cpu.toFixed(2)} µs`,
      cpuRatio.toFixed(2),
      rateRatio.toFixed(2),
      `${own.toFixed(0)} MiB, ${resident.toFixed(0)} MiB`,
    ]),
  );
  console.log(text);
  if (values["write-docs"])
    await writePlaces(join(root, "docs/scaling.md"), "node bench/workers.mjs --write-docs", { workers: text });
  for (const { child, sessions } of servers) {
    for (const session of sessions) void session.close();
    // Its workers end with it.
    child.kill("SIGKILL");
  }
}

/** Calls for so many seconds, with as many in flight as each session has. */
async function load(pids, sessions, echo, seconds) {
  const before = pids.reduce((sum, pid) => sum + ticks(pid), 0);
  const began = performance.now();
  let calls = 0;
  await Promise.all(
    sessions.flatMap((session) =>
      Array.from({ length: CALLS }, async () => {
        while (performance.now() - began < seconds * 1000) {
          await session.unary(echo, "a small message");
          calls++;
        }
      }),
    ),
  );
  const elapsed = (performance.now() - began) / 1000;
  const cpu = (pids.reduce((sum, pid) => sum + ticks(pid), 0) - before) / TICKS;
  return { rate: calls / elapsed, cpuMicros: (cpu * 1e6) / calls };
}

/** CPU time of a process (proc_pid_stat(5)). */
function ticks(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** MiB of a process: its own, and all that is resident. */
function memory(pid) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const kib = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
  return { own: (kib("Private_Clean") + kib("Private_Dirty")) / MIB, resident: kib("Rss") / MIB };
}
