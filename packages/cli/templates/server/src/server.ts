import { devCertificate, drainOnSignal, serve } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { greeter } from "./greeter.js";

const port = process.env["PORT"] ?? "4433";
const routers = [greeter];

const server = await serve({
  // UDP, and a WebSocket on the same port for those whom UDP does not reach.
  listen: `https://[::]:${port}/rpc`,
  webSocket: true,
  // In production: a certificate of your own, and watchTls().
  tls: await devCertificate(),
  // Reflection lets `quicrpc call` and the like see what is served.
  routers: [...routers, createReflection(routers)],
  advanced: { engine: "optional" },
});
drainOnSignal(server);
console.log(`listening on ${server.urls.join(", ")}`);
