// A server on sockets that were passed to it, which does what its parent says.
import cluster from "node:cluster";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { drainOnSignal, serve } from "@quicrpc/node";

const any = uncheckedCodec();
const service = { name: "test.v1.Passed", id: 7060 };
const methods = {
  pid: defineMethod(service, "unary", "pid", { id: 1, idempotent: true, output: any }),
  slow: defineMethod(service, "unary", "slow", { id: 2, idempotent: true, input: any, output: any }),
};
const router = createRouter(methods, {
  pid: () => process.pid,
  slow: (ms) => new Promise((resolve) => setTimeout(() => resolve(process.pid), ms)),
});

process.on("warning", ({ code, message }) => process.send({ warning: { code, message } }));
let serving;
async function start(options) {
  try {
    const server = await serve({ ...options, routers: [router], onError: () => {} });
    serving = server;
    drainOnSignal(server);
    process.send({ urls: server.urls, pid: process.pid, pids: server.group?.pids() });
  } catch (error) {
    process.send({ failed: { name: error.name, message: error.message, code: error.code, hint: error.hint } });
  } finally {
    if (cluster.isPrimary) process.channel.unref();
  }
}
if (cluster.isWorker) void start(JSON.parse(process.env.SERVE));
else {
  process.on("message", (options) => {
    if (options.say) {
      process.send({ pids: serving.group.pids() });
      return;
    }
    process.env.SERVE = JSON.stringify(options);
    void start(options);
  });
  process.send({ started: true });
}
