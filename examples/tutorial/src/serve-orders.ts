import { connect, devCertificate, drainOnSignal, serve } from "@quicrpc/node";
import { createStockClient } from "./generated/stock.js";
import { createOrders } from "./orders.js";

const { PORT = "4433", STOCK = "quic://localhost:4434" } = process.env;
const tls = await devCertificate();
const connection = await connect(STOCK, { serverCertificateHashes: [tls.hash] });
const server = await serve({
  listen: `https://localhost:${PORT}/rpc`,
  webSocket: true, // for browsers and networks without WebTransport
  tls,
  routers: [createOrders(createStockClient(connection))],
});
console.log("orders:", ...server.urls);
drainOnSignal(server, { close: [connection] });
