// Two servers behind HAProxy, with NATS between them, on this machine: `npm start cluster`. Now and then one of them is killed.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Child, freePort, listens } from "./cluster/child.js";
import { natsServer } from "./cluster/nats-server.js";
import { openSite } from "./server/site.js";

const HOST = "127.0.0.1";
const pagePort = Number(process.env["PAGE_PORT"] ?? 8080);
const port = Number(process.env["PORT"] ?? 4433);
/** Milliseconds between kills; 0: the program kills no process itself. */
const killEveryMs = Number(process.env["KILL_EVERY_MS"] ?? 20_000);

const nats = natsServer() ?? missing("a NATS server of 2.10 or later: node scripts/nats-server.mjs");
const haproxy = Child.find("haproxy", ["-v"]) ?? missing("HAProxy: apt-get install haproxy");
const folder = await mkdtemp(join(tmpdir(), "quicrpc-cluster-"));
await mkdir(join(folder, "data"));

// #region start
const broker = await Child.start("NATS", nats, ["-a", HOST, "-p", "-1", "-js", "-sd", folder], {
  ready: /client connections on [\d.]+:(\d+)[^]*Server is ready/,
});
const ports = [await freePort(), await freePort()];
const servers = await Promise.all(
  ports.map((own, at) =>
    Child.start(
      `server ${"ab"[at]}`,
      process.execPath,
      [fileURLToPath(new URL("cluster-server.js", import.meta.url))],
      {
        env: { PORT: `${own}`, PAGE_PORT: `${pagePort}`, DATA: join(folder, "data"), NATS: `${HOST}:${broker.said}` },
        ready: /serves/,
        restarts: true,
      },
    ),
  ),
);
const config = fileURLToPath(new URL("../haproxy.cfg", import.meta.url));
const balancer = await Child.start("HAProxy", haproxy, ["-db", "-f", config], {
  env: { LISTEN: `${HOST}:${port}`, SERVER_A: `${HOST}:${ports[0]}`, SERVER_B: `${HOST}:${ports[1]}` },
});
await listens(HOST, port, balancer);
const site = await openSite(pagePort, { url: `ws://${HOST}:${port}/whiteboard` });
// #endregion start

console.log(`The whiteboard is at http://localhost:${pagePort} (open it twice). Ctrl-C ends it.`);

let turn = 0;
const timer = killEveryMs === 0 ? undefined : setInterval(() => servers[turn++ % 2]?.kill(), killEveryMs);

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void end());

async function end(): Promise<void> {
  clearInterval(timer);
  site.close();
  site.closeAllConnections();
  await Promise.all([...servers, balancer, broker].map((child) => child.end()));
  await rm(folder, { recursive: true });
}

function missing(what: string): never {
  console.error(`This example needs ${what}`);
  process.exit(1);
}
