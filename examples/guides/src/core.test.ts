import { gunzipSync } from "node:zlib";
import { createLocalCaller, createSession } from "@quicrpc/core";
import { createMemoryPair, webStreamTransport } from "@quicrpc/core/transport";
import { expect, it, vi } from "vitest";
import { besideAnother, localOrders, tunnel, tunnelRouter, withinAnother } from "./core.js";
import { createOrdersClient, createOrdersRouter } from "./generated/orders.js";

const handlers = {
  async *list() {
    yield { id: "1", item: "tea" };
  },
  prices: () => ({ tea: 3 }),
  cancel() {},
};

it("a caller of one's own routers", async () => {
  expect(await localOrders(handlers).prices()).toEqual({ tea: 3 });
});

it("a tunnel carries bytes both ways", async () => {
  const { readable, writable } = createLocalCaller([tunnelRouter]).duplex(tunnel);
  const writer = writable.getWriter();
  void writer.write(new TextEncoder().encode("hello")).then(() => writer.close());
  const parts: Uint8Array[] = [];
  for await (const part of readable) parts.push(part);
  expect(gunzipSync(Buffer.concat(parts)).toString()).toBe("hello");
});

it("another protocol has its streams on the same session", async () => {
  const [here, there] = createMemoryPair();
  const data = vi.fn<(chunk: Uint8Array) => void>();
  const other = {
    onData: data,
    onEnd() {},
    onReset() {},
    onStopSending() {},
    onDrain() {},
    onClosed() {},
  };
  const server = besideAnother(there, [createOrdersRouter(handlers)], other);
  const session = createSession(here, { prefix: new TextEncoder().encode("RPC") });
  expect(await createOrdersClient(session).prices()).toEqual({ tea: 3 });
  const stream = here.openStream();
  stream.attach(other);
  stream.write(new TextEncoder().encode("GET /"), true);
  await vi.waitUntil(() => data.mock.calls.length > 0);
  expect(new TextDecoder().decode(data.mock.calls[0]?.[0])).toBe("GET /");
  await session.close();
  await server.close();
});

it("a session within one stream of another protocol", async () => {
  const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>();
  const back = new TransformStream<Uint8Array<ArrayBuffer>>();
  const transport = { createBidirectionalStream: async () => ({ readable: back.readable, writable }) };
  const server = createSession(webStreamTransport({ readable, writable: back.writable }, "server"), {
    routers: [createOrdersRouter(handlers)],
  });
  const session = await withinAnother(transport as never, []);
  expect(await createOrdersClient(session).prices()).toEqual({ tea: 3 });
  await session.close();
  await server.close();
});
