// A server of several workers, which does what its parent says.
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { drainOnSignal, serve } from "@quicrpc/node";
import { PortGroup } from "@quicrpc/quic";
import cluster from "node:cluster";
import { createServer } from "node:net";

const any = uncheckedCodec();
const service = { name: "test.v1.Workers", id: 7050 };
const methods = {
  pid: defineMethod(service, "unary", "pid", { id: 1, output: any }),
  slow: defineMethod(service, "unary", "slow", { id: 2, input: any, output: any }),
  crash: defineMethod(service, "notify", "crash", { id: 3 }),
  inherited: defineMethod(service, "unary", "inherited", { id: 4, output: any }),
};
const router = createRouter(methods, {
  pid: () => process.pid,
  slow: (ms) => new Promise((resolve) => setTimeout(() => resolve(process.pid), ms)),
  inherited: () => [process.execArgv, process.env.QUICRPC_WORKER ?? null],
  crash: () => process.kill(process.pid, "SIGKILL"),
});

if (process.env.BROKEN !== undefined) throw new Error("broken");
const { options, takesFirst, dies } = JSON.parse(process.argv[2]);
// Before Node has begun in its worker.
if (dies) cluster.once("fork", () => process.kill(process.pid, "SIGKILL"));
if (takesFirst && cluster.isPrimary) {
  // The first port that the system chooses is taken for TCP.
  const bind = PortGroup.bind.bind(PortGroup);
  PortGroup.bind = (given) => {
    PortGroup.bind = bind;
    const group = bind(given);
    createServer().listen(group.port).unref();
    process.send({ taken: group.port });
    return group;
  };
}
const onError = ({ message }) => process.send?.({ error: message });
const server = await serve({ ...options, routers: [router], onError }).catch((error) => {
  process.send({ failed: { name: error.name, message: error.message, code: error.code, hint: error.hint } });
  process.disconnect();
});
if (server !== undefined) drainOnSignal(server);
if (server?.group !== undefined) {
  const say = () => process.send({ urls: server.urls, pids: server.group.pids(), stats: server.stats() });
  const commands = {
    say,
    restart: () => server.group.restart().then(say),
    "restart slowly": () => void server.group.restart({ spreadMs: 60_000, timeoutMs: 120_000 }),
    break: () => {
      process.env.BROKEN = "1";
      server.group.restart().catch(({ message }) => process.send({ restart: message }));
    },
    drain: () => server.drain().then(() => process.disconnect()),
  };
  // The channel to the parent would keep the process.
  process.once("SIGTERM", () => void server.drain().then(() => process.disconnect()));
  process.on("message", (command) => commands[command]());
  say();
}
