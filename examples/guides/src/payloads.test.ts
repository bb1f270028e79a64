import { createSession } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { devCertificate, nodeCompressions, serve } from "@quicrpc/node";
import { expect, it, vi } from "vitest";
import { createOrdersClient, createOrdersRouter } from "./generated/orders.js";
import { acceptRecords, callerOfRecords, dialCompressed, dialJson } from "./payloads.js";

vi.mock(import("@quicrpc/node"), async (actual) => (await import("./loopback.js")).nodeOnLoopback(await actual()));

const prices = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`tea ${i}`, i]));
const router = createOrdersRouter({
  async *list() {
    yield { id: "1", item: "tea" };
  },
  prices: () => prices,
  cancel() {},
});

it("a caller chooses the codec, and compression", async () => {
  const compression = { algorithms: nodeCompressions(), minBytes: 4096 };
  const server = await serve({ port: 4433, tls: await devCertificate(), routers: [router], advanced: { compression } });
  for (const session of [await dialJson(), await dialCompressed(server.urls[0] ?? "")]) {
    expect(await createOrdersClient(session).prices()).toEqual(prices);
  }
});

it("records, where both sides have them", async () => {
  const [here, there] = createMemoryPair();
  acceptRecords(there, [router]);
  const session = createSession(here, callerOfRecords);
  const items = [];
  for await (const item of createOrdersClient(session).list()) items.push(item);
  expect(items).toEqual([{ id: "1", item: "tea" }]);
  await session.close();
});
