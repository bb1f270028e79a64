// A server on all cores: see docs/scaling.md.
import { devCertificate, drainOnSignal, serve } from "@quicrpc/node";
import { createOrdersRouter, type OrdersHandlers } from "../generated/orders.js";

const handlers: OrdersHandlers = {
  async *list() {
    yield { id: "1", item: "tea" };
  },
  prices: () => ({ tea: process.pid }),
  cancel() {},
};

// #region workers
const server = await serve({
  workers: "auto", // one for each core, or a number
  listen: ["quic://0.0.0.0:4433", "wss://0.0.0.0:4433"],
  tls: await devCertificate(), // in production { cert, key }, PEM
  routers: [createOrdersRouter(handlers)],
});
drainOnSignal(server);
if (server.group !== undefined) console.log(`workers ${server.group.pids().join(", ")} on ${server.urls.join(", ")}`);
// #endregion workers
