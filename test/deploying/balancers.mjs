// Tests docs/balancers/*.conf and .cfg: runs two servers behind nginx and behind HAProxy, if they are installed, and
// makes calls through each: `node test/deploying/balancers.mjs`.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../../scripts/free-port.mjs";
import { fail, root, setup } from "../../scripts/setup.mjs";

await setup();
const HOST = "127.0.0.1";
/** Debian's packages of what is to be tried. */
const PACKAGES = { nginx: "nginx libnginx-mod-stream", haproxy: "haproxy" };
const { createRouter, defineMethod, uncheckedCodec } = await import("@quicrpc/core/generated");
const { connect, devCertificate, serve } = await import("@quicrpc/node");

const text = uncheckedCodec();
const service = { name: "balancers.v1.Where", id: 7301 };
const where = defineMethod(service, "unary", "where", { id: 1, idempotent: true, output: text });
const count = defineMethod(service, "server_stream", "count", { id: 2, output: text });

const { cert, key, hash } = await devCertificate();
const folder = mkdtempSync(join(tmpdir(), "quicrpc-balancers-"));
writeFileSync(join(folder, "cert.pem"), cert);
writeFileSync(join(folder, "key.pem"), key);
writeFileSync(join(folder, "both.pem"), `${cert}\n${key}`);

const routers = (name) => [
  createRouter(
    { where, count },
    {
      where: () => name,
      async *count() {
        for (let i = 0; i < 20; i++) {
          yield String(i);
          await pause(50);
        }
      },
    },
  ),
];
/** Servers of UDP and TLS: TCP connections from the balancer begin with a header of the PROXY protocol. */
const direct = await Promise.all(
  ["a", "b"].map((name) =>
    serve({
      listen: ["quic://127.0.0.1:0", "tls://127.0.0.1:0"],
      tls: { cert, key },
      advanced: { trustedProxies: [HOST] },
      routers: routers(name),
    }),
  ),
);
/** Servers behind a proxy that ends TLS. */
const behind = await Promise.all(
  ["a", "b"].map((name) =>
    serve({
      listen: "ws://127.0.0.1:0/",
      http: true,
      advanced: { allowedHosts: ["localhost"] },
      routers: routers(name),
    }),
  ),
);
const servers = { quic: [direct, 0], tls: [direct, 1], web: [behind, 0] };

const ports = { udp: await freePort(), tls: await freePort(), web: await freePort() };
const values = {
  folder,
  ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, `${HOST}:${port}`])),
};
for (const [name, [both, index]] of Object.entries(servers)) {
  const [a, b] = both.map(({ urls }) => new URL(urls[index].replace(/^\w+/, "http")).host);
  Object.assign(values, { [`${name}_a`]: a, [`${name}_b`]: b });
}

/** What a balancer does not do, in words for whoever runs this. */
class Failure extends Error {}

/** A file of docs/balancers as this machine's program takes it: nginx has its module for TCP and UDP within it, in a file beside it, or not at all. */
function configured(command, template) {
  const [line, path] = /^load_module (.+);\n/m.exec(template) ?? [];
  if (line === undefined || existsSync(path)) return { template };
  const { stderr } = spawnSync(command, ["-V"], { encoding: "utf8" });
  if (/--with-stream(\s|$)/.test(stderr)) return { template: template.replace(line, "") };
  return {
    missing: `nginx is installed without ${basename(path)}, which passes TCP and UDP on: apt-get install libnginx-mod-stream`,
  };
}

/** Starts a balancer with a file of docs/balancers. Returns what is missing where it cannot. */
async function start(command, file, args) {
  if (spawnSync(command, ["-v"]).status !== 0)
    return `${command} is not installed: apt-get install ${PACKAGES[command]}`;
  const config = join(folder, file);
  const { template, missing } = configured(command, readFileSync(join(root, "docs/balancers", file), "utf8"));
  if (missing !== undefined) return missing;
  writeFileSync(
    config,
    template.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => values[name] ?? fail(`no ${name} in ${file}`)),
  );
  const child = spawn(command, [...args, config], { stdio: ["ignore", "inherit", "inherit"] });
  await pause(1500);
  if (child.exitCode !== null)
    throw new Failure(`${command} ended with exit code ${child.exitCode}: what it said is above`);
  return child;
}

/** Calls through the balancer: how many servers answered ten clients, and whether a stream's items come as they are made. */
async function tried(url) {
  const answered = new Set();
  let steady = true;
  for (let i = 0; i < 10; i++) {
    const connection = await connect(url, { serverCertificateHashes: [hash], timeoutMs: 5000 });
    answered.add(await connection.unary(where, undefined));
    if (i === 0) {
      const times = [];
      for await (const _ of connection.serverStream(count, undefined)) times.push(performance.now());
      // Buffered they would come at once at the end.
      steady = times.length === 20 && times.at(-1) - times[0] > 700;
    }
    await connection.close();
  }
  return `${answered.size} of 2 servers answered; items of a stream came ${steady ? "as they were made" : "TOGETHER"}`;
}

/** The status of a path over HTTPS, whose certificate is this program's own. */
function status(path) {
  return new Promise((resolve, reject) => {
    get({ host: HOST, port: ports.web, path, ca: cert, servername: "localhost" }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).once("error", reject);
  });
}

const balancers = [
  {
    command: "nginx",
    file: "nginx.conf",
    args: ["-e", "stderr", "-p", folder, "-c"],
    urls: [`quic://${HOST}:${ports.udp}`],
  },
  { command: "haproxy", file: "haproxy.cfg", args: ["-db", "-f"], urls: [] },
];
let missing = 0;
let failure;
try {
  for (const { command, file, args, urls } of balancers) {
    const child = await start(command, file, args);
    if (typeof child === "string") {
      console.log(child);
      missing++;
      continue;
    }
    try {
      for (const url of [...urls, `tls://${HOST}:${ports.tls}`, `wss://${HOST}:${ports.web}/`]) {
        const result = await tried(url);
        console.log(`${command}: ${new URL(url).protocol}// ${result}`);
        // Connections over QUIC of one process have one address, and so one server.
        const wanted = url.startsWith("quic:") ? /^[12] .* as they/ : /^2 .* as they/;
        if (!wanted.test(result)) throw new Failure(`${url} behind ${command}: ${result}`);
      }
      const ready = await status("/readyz");
      console.log(`${command}: GET /readyz ${ready}`);
      if (ready !== 200) throw new Failure(`/readyz behind ${command}: ${ready}`);
    } finally {
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      await gone;
    }
  }
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  failure = error.message;
} finally {
  await Promise.all([...direct, ...behind].map((server) => server.close()));
  rmSync(folder, { recursive: true });
}
if (failure !== undefined) fail(failure);
process.exit(missing === balancers.length ? 1 : 0);
