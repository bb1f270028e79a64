// Core without generated code, and together with other protocols: see packages/core/README.md.
import {
  notify,
  rpc,
  type Router,
  service,
  createLocalCaller,
  createSession,
  type Session,
  stream,
} from "@quicrpc/core";
import { bytesCodec, createRouter, defineMethod } from "@quicrpc/core/generated";
import { type DirectStreamHandler, webStreamTransport } from "@quicrpc/core/transport";
import { z } from "zod";
import { createOrdersClient, createOrdersRouter, type OrdersClient, type OrdersHandlers } from "./generated/orders.js";

const Order = z.object({ id: z.string(), total: z.number() });

// #region schema
export const Orders = service("shop.v1.Orders", {
  get: rpc({ input: z.object({ id: z.string() }), output: Order }),
  seen: notify({ input: z.object({ id: z.string() }) }), // no answer
  watch: rpc({ input: z.object({ since: z.date() }), output: stream(Order) }), // items until the end
});
// #endregion schema

export function localOrders(handlers: OrdersHandlers<undefined>): OrdersClient {
  // #region local
  const orders = createOrdersClient(createLocalCaller([createOrdersRouter(handlers)]));
  // #endregion local
  return orders;
}

const tunnels = { name: "net.v1.Tunnels", id: 4711 };

// #region tunnel
export const tunnel = defineMethod(tunnels, "duplex", "tunnel", { id: 2, input: bytesCodec, output: bytesCodec });
export const tunnelRouter: Router = createRouter(
  { tunnel },
  { tunnel: (input) => input.pipeThrough(new CompressionStream("gzip")) },
);
// #endregion tunnel

type Transport = Parameters<typeof createSession>[0];

export function besideAnother(
  transport: Transport,
  routers: readonly Router[],
  otherProtocol: DirectStreamHandler,
): Session {
  // #region beside
  const session = createSession(transport, {
    routers,
    prefix: new TextEncoder().encode("RPC"),
    onForeignStream: (stream) => stream.attach(otherProtocol),
  });
  // #endregion beside
  return session;
}

export async function withinAnother(transport: WebTransport, routers: readonly Router[]): Promise<Session> {
  // #region within
  const stream = await transport.createBidirectionalStream(); // the peer: one of its incomingBidirectionalStreams, and "server"
  const session = createSession(webStreamTransport(stream, "client"), { routers });
  // #endregion within
  return session;
}
