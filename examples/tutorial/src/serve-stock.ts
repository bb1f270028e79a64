import { devCertificate, drainOnSignal, serve } from "@quicrpc/node";
import { createStock } from "./stock.js";

const { PORT = "4434" } = process.env;
const stock = createStock({ apples: 10, pears: 3 });
const server = await serve({
  listen: `quic://localhost:${PORT}`,
  tls: await devCertificate(),
  routers: [stock],
});
console.log("stock:", ...server.urls);
drainOnSignal(server);
