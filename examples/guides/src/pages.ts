// Connections of pages: see docs/browsers.md.
import { type BrowserConnection, type BrowserTransport, connect, connectWebTransport, dial } from "@quicrpc/browser";
import { createSession, type Router, type SessionOptions } from "@quicrpc/core";
import { createPool, type Pool } from "@quicrpc/pool";
import { ponyfillTransport } from "@quicrpc/fails-components/browser";
import { createOrdersClient, type OrdersClient } from "./generated/orders.js";

export async function connectPage(): Promise<OrdersClient> {
  // #region connect
  const connection = await connect("https://example.org:4433/rpc");
  const orders = createOrdersClient(connection);
  // #endregion connect
  return orders;
}

export async function connectByHttpAtLast(): Promise<BrowserConnection> {
  // #region http
  const http = () => import("@quicrpc/http").then(({ httpTransport }) => httpTransport());
  const connection = await connect("https://example.org:4433/rpc", { fallback: { http } });
  // #endregion http
  return connection;
}

export async function connectByPonyfill(): Promise<BrowserConnection> {
  // #region ponyfill
  const fallback = { transport: ponyfillTransport() };
  const connection = await connect("https://example.org:4433/rpc", { fallback }); // transport: { kind: "ponyfill", reason: … }
  // #endregion ponyfill
  return connection;
}

export async function connectByHash(url: string, bytes: Uint8Array<ArrayBuffer>): Promise<BrowserConnection> {
  // #region hash
  const connection = await connect(url, { serverCertificateHashes: [{ algorithm: "sha-256", value: bytes }] });
  // #endregion hash
  return connection;
}

export async function showState(connection: BrowserConnection, badge: { textContent: string | null }): Promise<void> {
  // #region states
  for await (const { status } of connection.states()) badge.textContent = status;
  // #endregion states
}

export function poolOf(urls: readonly string[]): Pool {
  // #region pool
  const pool = createPool(urls, (url, signal) => dial(url, { signal }));
  // #endregion pool
  return pool;
}

export async function connectSmall(
  url: string,
  routers: readonly Router[],
  compression: NonNullable<SessionOptions["compression"]>,
): Promise<BrowserConnection> {
  // #region session
  const session = (transport: BrowserTransport) => createSession(transport, { routers, compression });
  const connection = await connectWebTransport(url, { session });
  // #endregion session
  return connection;
}
