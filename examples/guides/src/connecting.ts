// Connections: see docs/connecting.md.
import type { Duplex } from "node:stream";
import { type Connection, createConnection, type Session } from "@quicrpc/core";
import type { Pool } from "@quicrpc/pool";
import { failsTransport } from "@quicrpc/fails-components";
import { connect, connectPool, dial, nodeStreamTransport, type Server, type TransportProvider } from "@quicrpc/node";
import { watchHealth } from "@quicrpc/services";
import { createOrdersClient, type OrdersClient } from "./generated/orders.js";

export async function connectOrders(): Promise<OrdersClient> {
  // #region connect
  const connection = await connect("quic://orders.example:4433");
  const orders = createOrdersClient(connection);
  // #endregion connect
  return orders;
}

export async function connectOverWebSocket(): Promise<Connection> {
  // #region web-socket
  const connection = await connect("wss://example.org/rpc");
  // #endregion web-socket
  return connection;
}

export async function connectBySignedUrls(signedUrl: () => Promise<string>): Promise<Connection> {
  // #region each-url
  const connection = createConnection(async (signal) => dial(await signedUrl(), { signal }));
  // #endregion each-url
  await connection.ready();
  return connection;
}

export async function connectToSeveral(): Promise<Pool> {
  // #region pool
  const pool = await connectPool(["quic://a.example:4433", "quic://b.example:4433"], {
    balance: "powerOfTwo",
    sessionsPerTarget: 2,
    health: (caller, signal) => watchHealth(caller, "shop.v1.Orders", { signal }),
  });
  const orders = createOrdersClient(pool);
  // #endregion pool
  console.log(await orders.prices());
  return pool;
}

export async function dialByFails(): Promise<Session> {
  // #region fails
  const session = await dial("https://orders.example:4433/rpc", { advanced: { transports: [failsTransport()] } });
  // #endregion fails
  return session;
}

export async function connectThatMoves(): Promise<Connection> {
  // #region may-move
  const connection = await connect("quic://a.example:4433", {
    advanced: { allowedRedirects: ["quic://b.example:4433"] }, // or a test: (url) => boolean
  });
  // #endregion may-move
  return connection;
}

export async function sendAway(server: Server): Promise<void> {
  // #region send-away
  await server.drain({ to: "quic://b.example:4433", timeoutMs: 20_000 }); // or drainOnSignal(server, { to, … })
  // #endregion send-away
}

export async function connectAnyhow(quicUrl: string, wssUrl: string): Promise<Connection> {
  // #region fallback
  const connection = await connect(quicUrl, {
    fallback: { url: wssUrl, onFallback: (reason) => console.warn(reason.message) },
  });
  // #endregion fallback
  return connection;
}

export async function follow(connection: Connection): Promise<void> {
  // #region states
  for await (const state of connection.states()) console.log(state.status); // the present state, then each change
  // #endregion states
}

export async function connectByLine(openLine: (path: string) => Promise<Duplex>): Promise<Connection> {
  // #region provider
  const serial: TransportProvider = {
    name: "a serial line",
    schemes: ["serial:"],
    capabilities: { sessions: true },
    dial: async ({ pathname }) => {
      const line = await openLine(pathname); // a stream.Duplex
      return nodeStreamTransport({ readable: line, writable: line }, "client");
    },
  };
  const connection = await connect("serial:/dev/ttyUSB0", { advanced: { transports: [serial] } });
  // #endregion provider
  return connection;
}
