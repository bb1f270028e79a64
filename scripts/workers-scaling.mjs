// npm run bench:scaling: measures calls to 1, 2, 4, … workers, each with the same small share of a processor (control
// group), which shows the effect of more cores on a machine with few. Linux, as root. `-- --share 4 --most 16 --seconds
// 3 --rounds 5 --write-docs`
import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { table, writePlaces } from "./docs.mjs";
import { fail, root, setup } from "./setup.mjs";
import { median } from "./statistics.mjs";

const SESSIONS_OF_ONE = 16;
const CALLS = 8;
/** The least time that a control group grants in each period, whose length makes it the share that is wanted. */
const QUOTA_MICROS = 1000;
const PERCENT = 100;
const UNIFIED = "/sys/fs/cgroup/cgroup.controllers";
const service = { name: "bench.v1.Scaling", id: 7304 };
/** About 20 µs of work. */
const WORK = Buffer.alloc(16_384);

if (process.send !== undefined) await serveGroup(Number(process.argv[2]));
else await measure();

async function methods() {
  const { defineMethod, uncheckedCodec } = await import("@quicrpc/core/generated");
  const any = uncheckedCodec();
  return { work: defineMethod(service, "unary", "work", { id: 1, input: any, output: any }) };
}

async function serveGroup(workers) {
  const { createRouter } = await import("@quicrpc/core/generated");
  const { devCertificate, serve } = await import("@quicrpc/node");
  const { cert, key } = await devCertificate();
  const router = createRouter(await methods(), { work: () => createHash("sha256").update(WORK).digest().at(0) });
  const server = await serve({ workers, listen: "quic://127.0.0.1:0", tls: { cert, key }, routers: [router] });
  if (server.group !== undefined) process.send({ url: server.urls[0], pids: server.group.pids() });
}

async function measure() {
  const { values } = parseArgs({
    options: {
      share: { type: "string", default: "4" },
      most: { type: "string", default: "16" },
      seconds: { type: "string", default: "3" },
      rounds: { type: "string", default: "5" },
      "write-docs": { type: "boolean", default: false },
    },
  });
  const share = Number(values.share) / PERCENT;
  await setup();
  const { devCertificate, dial } = await import("@quicrpc/node");
  const { hash } = await devCertificate();
  const { work } = await methods();
  const groups = [];
  try {
    for (let workers = 1; workers <= Number(values.most); workers *= 2) {
      console.log(`${workers} worker${workers === 1 ? "" : "s"} …`);
      const child = fork(new URL(import.meta.url), [String(workers)], { execArgv: ["--no-warnings"] });
      const group = { workers, child, sessions: [], limits: [], rates: [] };
      groups.push(group);
      const [{ url, pids }] = await once(child, "message");
      const options = { serverCertificateHashes: [hash] };
      for (let at = 0; at < workers * SESSIONS_OF_ONE; at++) group.sessions.push(await dial(url, options));
      for (const pid of pids) group.limits.push(limit(pid, share));
    }
    for (let round = 0; round <= Number(values.rounds); round++) {
      for (const { sessions, rates } of groups) {
        const rate = await load(sessions, work, Number(values.seconds));
        // The first one warms up.
        if (round > 0) rates.push(rate);
      }
    }
  } finally {
    for (const { child, sessions, limits } of groups) {
      for (const session of sessions) void session.close();
      child.kill("SIGKILL");
      await once(child, "exit");
      for (const release of limits) await release();
    }
  }
  await report(groups, values);
}

async function report(groups, { share, "write-docs": write }) {
  const [one] = groups;
  const of = ({ rates, workers }) => median(rates.map((rate, at) => rate / one.rates[at] / workers));
  const rows = table(
    [`| workers, of ${share}% of a core each | calls per second | of n times one worker's |`, "|---:|---:|---:|"],
    groups.map((group) => [group.workers, median(group.rates).toFixed(0), of(group).toFixed(2)]),
  );
  console.log(rows);
  if (!write) return;
  await writePlaces(join(root, "docs/scaling.md"), "node scripts/workers-scaling.mjs --write-docs", { scaling: rows });
}

/** Calls per second, with as many in flight as keep every worker busy. */
async function load(sessions, work, seconds) {
  const began = performance.now();
  const end = began + seconds * 1000;
  let calls = 0;
  const one = async (session) => {
    while (performance.now() < end) {
      await session.unary(work, 1);
      calls++;
    }
  };
  await Promise.all(sessions.flatMap((session) => Array.from({ length: CALLS }, () => one(session))));
  return calls / ((performance.now() - began) / 1000);
}

/** Gives a process so much of a processor at most, and what it has ahead of others (cgroups(7)). Returns what removes the group when the process has ended. */
function limit(pid, share) {
  const unified = existsSync(UNIFIED);
  const folder = `/sys/fs/cgroup/${unified ? "" : "cpu/"}quicrpc-${pid}`;
  const period = Math.round(QUOTA_MICROS / share);
  try {
    mkdirSync(folder);
    const settings = unified
      ? { "cpu.max": `${QUOTA_MICROS} ${period}`, "cpu.weight": 10_000 }
      : { "cpu.cfs_period_us": period, "cpu.cfs_quota_us": QUOTA_MICROS, "cpu.shares": 100_000 };
    for (const [name, value] of Object.entries(settings)) writeFileSync(join(folder, name), String(value));
    writeFileSync(join(folder, "cgroup.procs"), String(pid));
  } catch (error) {
    fail(`This needs Linux, and a root that may make control groups: ${error.message}`);
  }
  return async () => {
    for (let tries = 0; tries < 50; tries++) {
      try {
        return rmdirSync(folder);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
}
