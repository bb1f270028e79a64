// Servers under the names that docs/connecting.md connects to.
import { failsTransport } from "@quicrpc/fails-components";
import { devCertificate, serve, type Server, type ServeOptions } from "@quicrpc/node";
import { createHealth } from "@quicrpc/services";
import { beforeAll, expect, it, vi } from "vitest";
import {
  connectOrders,
  connectOverWebSocket,
  connectThatMoves,
  connectToSeveral,
  dialByFails,
  sendAway,
} from "./connecting.js";
import { createOrdersClient, createOrdersRouter } from "./generated/orders.js";

vi.mock(import("@quicrpc/node"), async (actual) => (await import("./loopback.js")).nodeOnLoopback(await actual()));

const router = createOrdersRouter({
  async *list() {
    yield { id: "1", item: "tea" };
  },
  prices: () => ({ tea: 3 }),
  cancel() {},
});
let tls: Awaited<ReturnType<typeof devCertificate>>;
beforeAll(async () => {
  tls = await devCertificate();
});

function serving(listen: string, options: Partial<ServeOptions> = {}): Promise<Server> {
  return serve({ listen, tls, routers: [router], ...options });
}

it("a connection over QUIC, and over a WebSocket", async () => {
  await serving("quic://0.0.0.0:4433");
  await serving("wss://0.0.0.0:443/rpc");
  expect(await (await connectOrders()).prices()).toEqual({ tea: 3 });
  expect(await createOrdersClient(await connectOverWebSocket()).prices()).toEqual({ tea: 3 });
});

it("a pool asks its servers whether they are well", async () => {
  const health = createHealth({ "shop.v1.Orders": "serving" });
  await serving("quic://0.0.0.0:4433", { routers: [router, health.router] });
  const log = vi.spyOn(console, "log").mockReturnValue();
  const pool = await connectToSeveral();
  expect(log.mock.calls).toEqual([[{ tea: 3 }]]);
  log.mockRestore();
  await pool.close();
});

it("a session by @fails-components/webtransport makes calls", async () => {
  const server = await serving("https://0.0.0.0:4433/rpc", { advanced: { transports: [failsTransport()] } });
  expect(server.urls).toHaveLength(1);
  const session = await dialByFails();
  expect(await createOrdersClient(session).prices()).toEqual({ tea: 3 });
});

it("a server that drains names another, and connections that trust it live on", async () => {
  const server = await serving("quic://0.0.0.0:4433");
  const connection = await connectThatMoves();
  expect(await createOrdersClient(connection).prices()).toEqual({ tea: 3 });
  await sendAway(server);
  expect(connection.state.status).not.toBe("closed");
});
