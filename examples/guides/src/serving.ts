// Servers: see docs/serving.md.
import { readFile } from "node:fs/promises";
import { RpcError, type Router } from "@quicrpc/core";
import {
  connect,
  devCertificate,
  drainOnSignal,
  type Peer,
  serve,
  type ServeOptions,
  type Server,
  watchTls,
} from "@quicrpc/node";
import { createHealth, createReflection, createTimings } from "@quicrpc/services";
import { createOrdersClient, createOrdersRouter, type OrdersClient, type OrdersHandlers } from "./generated/orders.js";

type Tls = NonNullable<ServeOptions["tls"]>;

export interface User {
  readonly name: string;
}

/** Finds the user of a token. */
export interface Users {
  find(token: string | undefined): Promise<User | undefined>;
}

export async function serveOrders(users: Users, handlers: OrdersHandlers<User>): Promise<Server> {
  // #region serve
  const server = await serve({
    listen: ["quic://0.0.0.0:4433", "wss://0.0.0.0:443/rpc", "unix:/run/orders.sock"],
    tls: await devCertificate(), // in production { cert, key }, PEM
    routers: [createOrdersRouter<User>(handlers)],
    authenticate: async ({ credentials }) => {
      const user = await users.find(await credentials);
      if (user === undefined) throw new RpcError("unauthenticated", "no such user");
      return user; // handlers find it as context.connection
    },
  });
  drainOnSignal(server, { timeoutMs: 20_000 });
  // #endregion serve
  return server;
}

export async function servePublic(tls: Tls, users: Users, handlers: OrdersHandlers<User>): Promise<Server> {
  // #region public
  const server = await serve({
    listen: "https://0.0.0.0:443/rpc", // WebTransport and HTTP/3, by UDP
    webSocket: true, // and on the TCP port 443
    http: true,
    tls, // { cert, key }, PEM
    routers: [createOrdersRouter<User>(handlers)],
    authenticate: async ({ credentials }) => {
      // The token that the client sent; over HTTP that of `Authorization: Bearer`.
      const user = await users.find(await credentials);
      if (user === undefined) throw new RpcError("unauthenticated", "no such user");
      return user; // handlers find it as context.connection
    },
    allowedOrigins: ["https://shop.example"], // pages of other hosts
    limits: {
      maxFrameBytes: 256 * 1024, // a message
      maxSessionBytes: 4 * 1024 * 1024, // memory for one client
      maxServerBytes: 512 * 1024 * 1024, // memory for all clients
      maxCalls: 200, // calls in progress per session; over HTTP for all clients together
      maxBlobBytes: 100 * 1024 * 1024,
      maxDrainMs: 20_000,
    },
    advanced: { transport: { maxSessions: 5000 } },
  });
  drainOnSignal(server);
  // #endregion public
  return server;
}

export async function serveRenewed(
  routers: readonly Router[],
  logger: { error(error: Error): void },
): Promise<() => void> {
  // #region renewed
  const files = { cert: "/etc/tls/tls.crt", key: "/etc/tls/tls.key" };
  const server = await serve({
    port: 4433,
    tls: { cert: await readFile(files.cert), key: await readFile(files.key) },
    routers,
  });
  const stop = watchTls(server, files, { onError: (error) => logger.error(error) });
  // #endregion renewed
  return stop;
}

export async function serveDeployed(routers: readonly Router[]): Promise<Server> {
  // #region deployed
  const files = { cert: "/etc/tls/tls.crt", key: "/etc/tls/tls.key" };
  const server = await serve({
    listen: ["quic://[::]:4433", "wss://[::]:4433/rpc", "http://[::]:8080"],
    http: true, // /healthz and /readyz
    tls: { cert: await readFile(files.cert), key: await readFile(files.key) },
    routers,
    // 32 bytes that last: sessions of a process that died end at once
    advanced: { secret: await readFile("/etc/quicrpc/secret") },
  });
  watchTls(server, files); // renewed certificates need no restart
  drainOnSignal(server, { timeoutMs: 20_000 }); // SIGTERM: calls in progress finish
  // #endregion deployed
  return server;
}

export async function serveBySystemd(tls: Tls, secret: Uint8Array, routers: readonly Router[]): Promise<Server> {
  // #region systemd
  const server = await serve({ listen: "systemd:", webSocket: true, tls, routers, advanced: { secret } });
  drainOnSignal(server, { timeoutMs: 20_000 });
  // #endregion systemd
  return server;
}

/** Serves behind a platform that terminates TLS and forwards one TCP port. */
export async function serveBehindPlatform(routers: readonly Router[]): Promise<Server> {
  // #region platform
  const server = await serve({
    listen: `ws://0.0.0.0:${process.env["PORT"] ?? 8080}/rpc`,
    http: true,
    routers,
    advanced: { allowedHosts: ["orders.example"] }, // the name by which pages reach it
  });
  drainOnSignal(server);
  // #endregion platform
  return server;
}

export async function serveBehindBalancer(tls: Tls, routers: readonly Router[]): Promise<Server> {
  // #region quic-lb
  const server = await serve({
    listen: "quic://0.0.0.0:443",
    tls,
    routers,
    // 8 bytes, this server's own
    advanced: { connectionIds: { serverId: process.env["SERVER_ID"] ?? "0x0000000000000001" } },
  });
  // #endregion quic-lb
  return server;
}

export async function serveAnyhow(tls: Tls, routers: readonly Router[]): Promise<Server> {
  // #region several
  const server = await serve({
    listen: ["quic://[::]:443", "wss://[::]:443/rpc", "unix:/run/orders.sock"],
    tls,
    routers,
  });
  // #endregion several
  return server;
}

export async function servePages(tls: Tls, routers: readonly Router[]): Promise<Server> {
  // #region pages
  const server = await serve({ listen: ["https://[::]:4433/rpc"], webSocket: true, tls, routers });
  // #endregion pages
  return server;
}

export async function serveHttp(tls: Tls, routers: readonly Router[]): Promise<Server> {
  // #region http
  const server = await serve({ port: 4433, tls, routers, http: true });
  // #endregion http
  return server;
}

interface Address {
  readonly address: string | undefined;
}

export async function serveAndConnect(handlers: OrdersHandlers<Address>): Promise<OrdersClient> {
  // #region both
  const tls = await devCertificate();
  const server = await serve({
    port: 4433,
    tls, // in production { cert, key }, PEM
    routers: [createOrdersRouter(handlers)],
    authenticate: ({ remoteAddress }) => ({ address: remoteAddress?.host }), // handlers find it as context.connection
  });
  console.log("listening on", server.urls.join(", "));

  const connection = await connect("quic://localhost:4433", { serverCertificateHashes: [tls.hash] });
  const orders = createOrdersClient(connection);
  // #endregion both
  return orders;
}

export async function serveHealth(tls: Tls, ordersRouter: Router): Promise<Server> {
  // #region health
  const health = createHealth({ "shop.v1.Orders": "serving" });
  const routers = [ordersRouter, health.router];
  const server = await serve({ port: 4433, tls, routers: [...routers, createReflection(routers)] });

  health.set("shop.v1.Orders", "not_serving"); // everyone who watches is notified
  health.shutdown(); // before a drain: every status is "not_serving"
  // #endregion health
  return server;
}

export async function serveTimings(
  tls: Tls,
  ordersRouter: Router,
  authenticate: (peer: Peer) => User,
): Promise<Server> {
  // #region timings
  const timings = createTimings();
  const routers = [timings.measure(ordersRouter), timings.router];
  const server = await serve({ port: 4433, tls, routers: [...routers, createReflection(routers)], authenticate });
  // #endregion timings
  return server;
}
