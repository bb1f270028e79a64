// A server on several cores whose program forks the workers itself: see docs/scaling.md.
import cluster from "node:cluster";
import { devCertificate, serve, shareUdpPorts } from "@quicrpc/node";
import { createOrdersRouter, type OrdersHandlers } from "../generated/orders.js";

const handlers: OrdersHandlers = {
  async *list() {
    yield { id: "1", item: "tea" };
  },
  prices: () => ({ tea: process.pid }),
  cancel() {},
};

// #region forked
const listen = ["quic://0.0.0.0:4433", "wss://0.0.0.0:4433"];
if (cluster.isPrimary) {
  await shareUdpPorts({ listen }); // before the first fork
  for (let i = 0; i < 4; i++) cluster.fork();
  cluster.on("exit", () => cluster.fork());
} else {
  await serve({ listen, tls: await devCertificate(), routers: [createOrdersRouter(handlers)] });
  console.log(`worker ${process.pid}`);
}
// #endregion forked
