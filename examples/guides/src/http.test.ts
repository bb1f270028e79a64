import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createLocalCaller } from "@quicrpc/core";
import { createFetchHandler, type FetchHandler, toNodeHandler } from "@quicrpc/http";
import { createReflection } from "@quicrpc/services";
import { EventSource } from "eventsource";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { createArithRouter } from "./generated/arith.js";
import { createNotesClient, createNotesRouter } from "./generated/notes.js";
import { arithOverHttp, serveOverHttp, showNotes, withDocs, withOpenApi, withStudio, withTools } from "./http.js";
import { createNotes } from "./notes.js";

vi.mock(import("node:http"), async (actual) => {
  const { createServer, ...rest } = await actual();
  const onAnyPort = (...how: Parameters<typeof createServer>): ReturnType<typeof createServer> => {
    const server = createServer(...how);
    const listen = server.listen.bind(server);
    return Object.assign(server, { listen: () => listen(0, "127.0.0.1") });
  };
  return { ...rest, createServer: onAnyPort as typeof createServer };
});
afterEach(() => vi.unstubAllGlobals());

const arith = {
  multiply: ({ a, b }: { a: number; b: number }) => ({ pro: a * b }),
  divide: ({ a, b }: { a: number; b: number }) => ({ quo: Math.trunc(a / b) }),
};
const routers = [createArithRouter(arith)];

async function get(handler: FetchHandler, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return handler(new Request(`http://localhost${path}`, { headers }));
}

it("a server over HTTP answers JSON", async () => {
  const server = serveOverHttp(arith);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/guides.v1.Arith/multiply`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"a":9,"b":2}',
  });
  expect(await response.json()).toEqual({ pro: 18 });
});

it("the generated client calls over HTTP", async () => {
  const handler = createFetchHandler({ routers });
  const urls: string[] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    urls.push(url);
    return handler(new Request(url, init));
  });
  expect(await arithOverHttp().multiply({ a: 9, b: 2 })).toEqual({ pro: 18 });
  expect(urls).toEqual(["https://orders.example/guides.v1.Arith/multiply"]);
});

it("a page follows a stream by server-sent events", async () => {
  const router = createNotesRouter(createNotes());
  const server = createServer(toNodeHandler(createFetchHandler({ routers: [router] }))).listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  class AtServer extends EventSource {
    constructor(path: string) {
      super(new URL(path, `http://127.0.0.1:${port}`));
    }
  }
  vi.stubGlobal("EventSource", AtServer);
  const show = vi.fn<(note: unknown) => void>();
  const events = showNotes(show);
  onTestFinished(() => {
    events.close();
    server.closeAllConnections();
    server.close();
  });
  await createNotesClient(createLocalCaller([router])).save({ text: "milk" });
  await vi.waitUntil(() => show.mock.calls.length > 0, { timeout: 15_000 });
  expect(show.mock.calls[0]?.[0]).toMatchObject({ text: "milk" });
});

it("tools for language models are for who may call", async () => {
  const handler = withTools([...routers, createReflection(routers)], () => "ann");
  const response = await handler(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "guide", version: "1" } },
      }),
    }),
  );
  expect(await response.text()).toContain('"name":"shop"');
});

it("the studio, the document and its page are beside the services", async () => {
  expect(await (await get(withStudio(routers), "/studio")).text()).toContain("<!doctype html>");
  const document = (await (await get(withOpenApi(routers), "/openapi.json")).json()) as { readonly info: object };
  expect(document.info).toEqual({ title: "Shop", version: "1.4.0" });
  expect(await (await get(withDocs(routers), "/docs")).text()).toContain("<title>Shop</title>");
});
