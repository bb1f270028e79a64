// A page's connections in Node, by the `WebTransport` of the engine: what a browser adds is tested in test/browser.
import { devCertificate, serve, type Server } from "@quicrpc/node";
import { WebTransport } from "@quicrpc/quic";
import { expect, it, vi } from "vitest";
import { createOrdersClient, createOrdersRouter } from "./generated/orders.js";
import {
  connectByHash,
  connectByHttpAtLast,
  connectByPonyfill,
  connectPage,
  connectSmall,
  poolOf,
  showState,
} from "./pages.js";

vi.mock(import("@quicrpc/node"), async (actual) => (await import("./loopback.js")).nodeOnLoopback(await actual()));
vi.mock(import("@quicrpc/browser"), async (actual) =>
  (await import("./loopback.js")).pageOnLoopback(await actual(), devCertificate),
);
vi.stubGlobal("WebTransport", WebTransport);

const router = createOrdersRouter({
  async *list() {
    yield { id: "1", item: "tea" };
  },
  prices: () => ({ tea: 3 }),
  cancel() {},
});

async function serving(): Promise<Server> {
  return serve({ listen: "https://[::]:4433/rpc", tls: await devCertificate(), routers: [router] });
}

it("a page calls over WebTransport, whatever it could fall back to", async () => {
  await serving();
  expect(await (await connectPage()).prices()).toEqual({ tea: 3 });
  for (const connection of [await connectByHttpAtLast(), await connectByPonyfill()]) {
    expect(connection.transport).toMatchObject({ kind: "webtransport" });
    expect(await createOrdersClient(connection).prices()).toEqual({ tea: 3 });
  }
});

it("a page trusts a certificate by its hash, and shows the state of its connection", async () => {
  const { urls } = await serving();
  const connection = await connectByHash(urls[0] ?? "", (await devCertificate()).hash.value);
  const badge: { textContent: string | null } = { textContent: null };
  const showing = showState(connection, badge);
  await vi.waitUntil(() => badge.textContent === "ready");
  await connection.close();
  await showing;
  expect(badge.textContent).toBe("closed");
});

it("a pool of a page's sessions, and a session with what it needs alone", async () => {
  const { urls } = await serving();
  const pool = poolOf(urls);
  expect(await createOrdersClient(pool).prices()).toEqual({ tea: 3 });
  await pool.close();
  const session = await connectSmall(urls[0] ?? "", [], { algorithms: [] });
  expect(await createOrdersClient(session).prices()).toEqual({ tea: 3 });
});
