// Tests docs/systemd with systemd itself, as process 1 of its own namespaces: sockets, successive releases and crashes,
// with calls in progress. Once with one process for each release, and once with workers. `node test/deploying/systemd.mjs`, as root on
// Linux.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fail, root, setup } from "../../scripts/setup.mjs";

const SYSTEMD = "/lib/systemd/systemd";
/** Set in the process that runs inside the namespaces. */
const INSIDE = "QUICRPC_SYSTEMD_FOLDER";
const PORT = 4433;
const PATIENCE_MS = 120_000;
/** Undefined: one process. */
const SIZES = [undefined, 2];

const SERVER = `
import { readFileSync } from "node:fs";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { drainOnSignal, serve } from "@quicrpc/node";
const any = uncheckedCodec();
const where = defineMethod({ name: "systemd.v1.Where", id: 7302 }, "unary", "where", { id: 1, idempotent: true, output: any });
if (process.cwd().endsWith("broken")) throw new Error("a release that cannot serve");
const { workers } = JSON.parse(readFileSync("../settings.json", "utf8"));
const primary = workers === undefined ? process.pid : process.ppid;
const server = await serve({
  listen: "systemd:",
  workers,
  webSocket: true,
  tls: JSON.parse(readFileSync("../tls.json", "utf8")),
  routers: [createRouter({ where }, { where: () => ({ release: process.cwd().split("/").at(-1), pid: process.pid, primary }) })],
});
drainOnSignal(server);
`;

if (process.env[INSIDE] === undefined) await outside();
else await inside(process.env[INSIDE]);

async function outside() {
  await setup();
  if (process.platform !== "linux" || process.getuid() !== 0)
    fail("node test/deploying/systemd.mjs needs Linux and root");
  if (!existsSync(SYSTEMD)) fail("node test/deploying/systemd.mjs needs systemd");
  for (const workers of SIZES) {
    console.log(workers === undefined ? "a process for each release" : `${workers} workers for each release`);
    await runUnits(workers);
  }
}

async function runUnits(workers) {
  const before = controlGroups();
  const folder = mkdtempSync(join(tmpdir(), "quicrpc-systemd-"));
  try {
    await prepare(folder, workers);
    // All that systemd could change is read-only, or lives in memory.
    const script = `
      set -e
      mount --make-rprivate /
      mount --bind ${folder} /mnt
      mount --bind ${root} /mnt/checkout
      mount -o remount,ro,bind /
      for each in /run /tmp /var /srv; do mount -t tmpfs tmpfs $each; done
      if ! [ -e ${root} ]; then mkdir -p ${root}; mount --bind /mnt/checkout ${root}; fi
      mount --bind /proc/sys /proc/sys
      mount -o remount,ro,bind /proc/sys
      ip link set lo up
      cp -a /mnt/srv/. /srv/
      export SYSTEMD_UNIT_PATH=/mnt/units SYSTEMD_GENERATOR_PATH=/mnt/none container=other
      exec ${SYSTEMD} --system --log-target=console --log-level=warning --show-status=no`;
    const namespaces = ["--pid", "--mount", "--mount-proc", "--ipc", "--uts", "--net", "--cgroup"];
    const manager = spawn("unshare", ["--fork", "--kill-child", ...namespaces, "bash", "-c", script], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    const result = join(folder, "result.json");
    const until = Date.now() + PATIENCE_MS;
    while (!existsSync(result) && manager.exitCode === null && Date.now() < until) await pause(100);
    manager.kill("SIGKILL");
    if (manager.exitCode === null && manager.signalCode === null) await once(manager, "exit");
    if (!existsSync(result)) fail("systemd did not run the units to their end");
    const { lines, error } = JSON.parse(readFileSync(result, "utf8"));
    for (const line of lines) console.log(line);
    if (error !== undefined) fail(error);
  } finally {
    // Processes that it started end with it, after a moment.
    await pause(500);
    for (const group of controlGroups().filter((each) => !before.includes(each))) {
      spawnSync("find", [group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]);
    }
    rmSync(folder, { recursive: true });
  }
}

/** The control groups that systemd makes for itself and its services, in whatever hierarchies there are. */
function controlGroups() {
  const groups = "/sys/fs/cgroup";
  const hierarchies = [groups, ...readdirSync(groups).map((name) => join(groups, name))];
  return hierarchies
    .flatMap((each) => [join(each, "init.scope"), join(each, "system.slice")])
    .filter((each) => existsSync(each));
}

/** The units as they are documented, but for the user, where node is and the sockets of workers, and three releases: the second one cannot serve. */
async function prepare(folder, workers) {
  // A mount point for the checkout, in case the checkout is in a folder in memory.
  mkdirSync(join(folder, "checkout"));
  const units = join(folder, "units");
  cpSync(join(root, "docs/systemd"), units, { recursive: true });
  const service = join(units, "orders@.service");
  const text = readFileSync(service, "utf8").replace("User=orders\n", "").replace("/usr/bin/node", process.execPath);
  writeFileSync(service, text);
  if (workers !== undefined) {
    const socket = join(units, "orders.socket");
    const line = `ListenDatagram=${PORT}\n`;
    const lines = line.repeat(workers + 1);
    writeFileSync(socket, readFileSync(socket, "utf8").replaceAll(line, lines));
  }
  for (const name of ["sysinit", "basic", "sockets", "shutdown"]) {
    writeFileSync(join(units, `${name}.target`), "[Unit]\nDefaultDependencies=no\n");
  }
  writeFileSync(
    join(units, "default.target"),
    "[Unit]\nDefaultDependencies=no\nWants=orders.socket driver.service\nAfter=orders.socket\n",
  );
  const driver = [
    "[Unit]\nDefaultDependencies=no\nAfter=orders.socket",
    `[Service]\nEnvironment=${INSIDE}=/mnt\nExecStart=${process.execPath} ${join(root, "test/deploying/systemd.mjs")}\n`,
  ];
  writeFileSync(join(units, "driver.service"), driver.join("\n"));
  const { devCertificate } = await import("@quicrpc/node");
  const { cert, key, hash } = await devCertificate();
  const orders = join(folder, "srv/orders");
  for (const release of ["1", "broken", "2"]) {
    mkdirSync(join(orders, release, "dist"), { recursive: true });
    writeFileSync(join(orders, release, "dist/server.mjs"), SERVER);
    writeFileSync(join(orders, release, "dist/server.js"), 'import("./server.mjs");');
    symlinkSync(join(root, "node_modules"), join(orders, release, "node_modules"));
  }
  symlinkSync("1", join(orders, "current"));
  writeFileSync(join(orders, "settings.json"), JSON.stringify({ workers }));
  writeFileSync(join(orders, "tls.json"), JSON.stringify({ cert, key }));
  writeFileSync(join(orders, "hash.json"), JSON.stringify({ ...hash, value: Array.from(hash.value) }));
}

/** Calls without a pause while releases change. What this finds goes into `result.json`. */
async function inside(folder) {
  const lines = [];
  let failed;
  try {
    const { defineMethod, uncheckedCodec } = await import("@quicrpc/core/generated");
    const { connect, dial } = await import("@quicrpc/node");
    const service = { name: "systemd.v1.Where", id: 7302 };
    const where = defineMethod(service, "unary", "where", { id: 1, idempotent: true, output: uncheckedCodec() });
    const { algorithm, value } = JSON.parse(readFileSync("/srv/orders/hash.json", "utf8"));
    const trust = { serverCertificateHashes: [{ algorithm, value: Uint8Array.from(value) }] };
    const urls = { quic: `quic://127.0.0.1:${PORT}`, wss: `wss://127.0.0.1:${PORT}/` };
    const seen = async (url) => {
      const session = await dial(url, trust);
      try {
        return await session.unary(where, undefined);
      } finally {
        await session.close();
      }
    };
    const expect = (what, found, expected) => {
      lines.push(`${found === expected ? "ok" : "NOT OK"}  ${what}: ${found}`);
      if (found !== expected) throw new Error(`${what}: ${found}, not ${expected}`);
    };
    /** Where they were closed and opened again these have changed. */
    const sockets = () => systemctl("show", "orders.socket", "--property=ActiveEnterTimestampMonotonic");
    const systemctl = (...args) => spawnSync("systemctl", args, { encoding: "utf8" }).stdout.trim();
    expect("before the first packet", systemctl("is-active", "orders@current.service"), "inactive");
    for (const [kind, url] of Object.entries(urls))
      expect(`the first client over ${kind}`, (await seen(url)).release, "1");
    const opened = sockets();

    const over = new AbortController();
    let calls = 0;
    const errors = [];
    const connections = await Promise.all(
      Array.from({ length: 16 }, (_, at) => connect(at % 4 === 3 ? urls.wss : urls.quic, trust)),
    );
    const calling = connections.map(async (connection) => {
      while (!over.signal.aborted) {
        calls++;
        await connection.unary(where, undefined).catch((error) => errors.push(error.message));
      }
    });
    const newcomers = (async () => {
      while (!over.signal.aborted) {
        calls++;
        const newcomer = await connect(urls.quic, trust);
        await newcomer.unary(where, undefined).catch((error) => errors.push(error.message));
        await newcomer.close();
      }
    })();

    // More often than systemd takes by default before it closes the sockets of a service.
    for (let tries = 0; tries < 6; tries++) {
      if ((await deployed("broken")).code === 0) throw new Error("a release that cannot serve was deployed");
    }
    expect("a release that cannot serve is left alone", systemctl("is-active", "orders@broken.service"), "inactive");
    expect("and release 1 goes on", (await seen(urls.quic)).release, "1");
    expect("release 2 is deployed", (await deployed("2")).code, 0);
    expect("new clients", (await seen(urls.quic)).release, "2");
    for (const connection of connections) {
      const { release } = await connection.unary(where, undefined);
      if (release !== "2") throw new Error(`a connection is still with release ${release}`);
    }
    expect("release 1", systemctl("is-active", "orders@current.service"), "inactive");
    for (let at = 0; at < 6; at++) {
      const [from, to] = at % 2 === 0 ? ["2", "1"] : ["1", "2"];
      const { code, text } = await deployed(to);
      if (code !== 0) throw new Error(`from ${from} to ${to}: ${text}`);
    }
    over.abort();
    await Promise.all([...calling, newcomers]);
    expect("releases changed", 7, 7);
    lines.push(`${errors.length === 0 ? "ok" : "NOT OK"}  of ${calls} calls meanwhile failed: ${errors.length}`);
    if (errors.length > 0) throw new Error(errors.join("\n"));

    const [connection] = connections;
    const { workers } = JSON.parse(readFileSync("/srv/orders/settings.json", "utf8"));
    if (workers !== undefined) {
      const { before, after } = await crash(({ pid }) => pid);
      expect("a worker that died is replaced by the same primary", after.primary, before.primary);
    }
    const { before, after } = await crash(({ primary }) => primary);
    expect("after a crash the same release answers", after.release, before.release);
    expect("the sockets were open all the time", sockets() === opened, true);
    await Promise.all(connections.map((connection) => connection.close()));

    /** Who answers before and after a process of those that do is killed. */
    async function crash(which) {
      const before = await connection.unary(where, undefined);
      process.kill(which(before), "SIGKILL");
      // Workers outlive their primary briefly, and still answer. If nothing changes, the overall timeout ends the test.
      let after = before;
      while (which(after) === which(before)) after = await connection.unary(where, undefined).catch(() => before);
      return { before, after };
    }

    /** Runs the script beside these calls. */
    async function deployed(release) {
      const child = spawn("sh", [join(folder, "units/deploy.sh"), release], { stdio: ["ignore", "pipe", "pipe"] });
      let text = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (text += part));
      const [code] = await once(child, "exit");
      return { code, text };
    }
  } catch (error) {
    failed = error.stack;
  }
  writeFileSync(join(folder, "result.tmp"), JSON.stringify({ lines, error: failed }));
  renameSync(join(folder, "result.tmp"), join(folder, "result.json"));
}
