// A server and its clients in one process; the generated code knows nothing of the codec.
import { RpcError } from "@quicrpc/core";
import { connect, devCertificate, serve } from "@quicrpc/node";
import { cbor } from "./cbor.js";
import { xml } from "./xml.js";
import { createOrdersClient, createOrdersRouter, type Order } from "./generated/orders.js";

const { cert, key, hash } = await devCertificate();
const url = process.env["LISTEN"] ?? "quic://localhost:0";
const placed: Order[] = [];
const router = createOrdersRouter({
  place: (order) => {
    placed.push(order);
    return order;
  },
  all: () => placed,
});
const trust = { serverCertificateHashes: [hash] };
const order = { id: "o-1", at: new Date(0), cents: 2n ** 62n, tags: new Set(["new", "gift"]) };

for (const codec of [cbor, xml]) {
  // Codecs that the peer may choose in addition to MessagePack, JSON and raw bytes.
  await using server = await serve({
    listen: [url],
    tls: { cert, key },
    routers: [router],
    advanced: { codecs: [cbor, xml] },
  });
  await using connection = await connect(String(server.urls[0]), { ...trust, advanced: { codec } });
  const orders = createOrdersClient(connection);
  console.log(codec.name);
  console.log("placed ", await orders.place(order));
  for await (const listed of orders.all()) console.log("listed ", listed);
  placed.length = 0;
}

{
  await using server = await serve({ listen: [url], tls: { cert, key }, routers: [router] });
  await using connection = await connect(String(server.urls[0]), { ...trust, advanced: { codec: cbor } });
  const refused = await createOrdersClient(connection)
    .place(order)
    .catch((error: unknown) => RpcError.from(error));
  if (refused instanceof RpcError) console.log(`refused ${refused.code}: ${refused.message}`);
}
