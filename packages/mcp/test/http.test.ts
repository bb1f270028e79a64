// Tools over streamable HTTP, called by the official client.
import { createServer, type RequestListener } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type Interceptor, RpcError } from "@quicrpc/core";
import { createFetchHandler, type HttpServiceOptions, toNodeHandler } from "@quicrpc/http";
import { mcp } from "@quicrpc/mcp";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newSeen, newShop, until } from "./shop.js";

const seen = newSeen();
const intercepted: string[] = [];
const interceptor: Interceptor = (call, next) => {
  intercepted.push(call.method.name);
  return next(call);
};

function newHandler(more: Partial<HttpServiceOptions<string>> = {}): ReturnType<typeof createFetchHandler> {
  return createFetchHandler<string>({
    routers: [newShop(seen)],
    interceptors: [interceptor],
    authenticate({ headers, method }) {
      const user = headers.get("authorization")?.replace("Bearer ", "");
      if (user === undefined) throw new RpcError("unauthenticated", "sign in first");
      if (user === "guest" && method.endsWith("whoAmI")) throw new RpcError("permission_denied", "not for guests");
      return user;
    },
    extensions: [mcp({ name: "shop", version: "1.0.0" })],
    onError: () => {},
    ...more,
  });
}

const handler = newHandler();
const server = createServer(toNodeHandler(handler) as RequestListener);
let url: URL;
const clients: Client[] = [];

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
});
afterAll(() => void server.close());
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

const eras = { "2026-07-28": { mode: "auto" }, "2025": { mode: "legacy" } } as const;

async function connect(era: keyof typeof eras, user = "ada"): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: eras[era] });
  clients.push(client);
  const requestInit = { headers: { authorization: `Bearer ${user}` } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return client;
}

describe.each(Object.keys(eras) as (keyof typeof eras)[])("a client of %s", (era) => {
  test("sees the methods that are marked, and no other", async () => {
    const { tools } = await (await connect(era)).listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(
      ["Shop_add", "Shop_find", "Shop_lines", "Shop_note", "Shop_wait", "Shop_whoAmI", "count_letters"].sort(),
    );
    expect(tools.find(({ name }) => name === "Shop_find")).toMatchObject({
      title: "Find an article",
      description: "Finds an article by its id.",
      annotations: { readOnlyHint: true, idempotentHint: true },
      inputSchema: { type: "object", properties: { id: { type: "string", maxLength: 20 } }, required: ["id"] },
      outputSchema: { properties: { price: { type: "string" }, addedAt: { format: "date-time" } } },
    });
  });

  test("calls them by the way of all calls", async () => {
    const client = await connect(era);
    const article = { id: "7", price: "9007199254740993", addedAt: "1970-01-01T00:00:00.000Z", stock: { berlin: 3 } };
    intercepted.length = 0;
    expect((await client.callTool({ name: "Shop_find", arguments: { id: "7" } })).structuredContent).toEqual(article);
    expect((await client.callTool({ name: "Shop_add", arguments: article })).structuredContent).toEqual(article);
    expect((await client.callTool({ name: "count_letters", arguments: { value: "four" } })).structuredContent).toEqual({
      value: 4,
    });
    expect((await client.callTool({ name: "Shop_whoAmI" })).structuredContent).toEqual({ user: "ada" });
    expect((await client.callTool({ name: "Shop_note", arguments: { text: era } })).content).toEqual([]);
    await until(seen, `note ${era}`);
    expect(intercepted).toEqual(["find", "add", "count", "whoAmI", "note"]);
  });

  test("errors are results with code, reason and details", async () => {
    const client = await connect(era);
    const errorOf = async (name: string, given: Record<string, unknown> = {}): Promise<unknown> => {
      const { isError, content, structuredContent } = await client.callTool({ name, arguments: given });
      expect(isError).toBe(true);
      expect(content).toEqual([{ type: "text", text: JSON.stringify(structuredContent) }]);
      return (structuredContent as { error: unknown }).error;
    };
    expect(await errorOf("Shop_find", { id: "gone" })).toEqual({
      code: "not_found",
      message: "sold out",
      reason: "GONE",
      details: { since: "1970-01-01T00:00:00.000Z" },
    });
    expect(await errorOf("Shop_find", { id: 7 })).toEqual({
      code: "invalid_argument",
      message: "expected string, received number at id",
    });
    expect(await errorOf("Shop_find", { id: "crash" })).toEqual({ code: "internal", message: "the handler failed" });
    await expect(client.callTool({ name: "Shop_empty" })).rejects.toThrow("there is no tool");
    const guest = await connect(era, "guest");
    expect((await guest.callTool({ name: "Shop_whoAmI" })).structuredContent).toMatchObject({
      error: { code: "permission_denied" },
    });
  });

  test("items of a stream are progress, and the result has them all, or says that it has not", async () => {
    const client = await connect(era);
    const progress: unknown[] = [];
    const onprogress = (said: { progress: number; message?: string | undefined }): void =>
      void progress.push([said.progress, said.message]);
    const { structuredContent } = await client.callTool({ name: "Shop_lines", arguments: { n: 2 } }, { onprogress });
    expect(structuredContent).toEqual({ items: [{ line: 0 }, { line: 1 }] });
    expect(progress).toEqual([
      [1, '{"line":0}'],
      [2, '{"line":1}'],
    ]);
    const endless = await client.callTool({ name: "Shop_lines", arguments: { n: 1e9 } });
    expect(endless.structuredContent).toMatchObject({ truncated: true });
    expect((endless.structuredContent as { items: unknown[] }).items).toHaveLength(5);
    await until(seen, "lines aborted");
    seen.events.length = 0;
  });

  test("cancelling reaches the handler", async () => {
    const client = await connect(era);
    const cancel = new AbortController();
    const called = client.callTool({ name: "Shop_wait" }, { signal: cancel.signal });
    await until(seen, "waiting");
    cancel.abort();
    await expect(called).rejects.toThrow(/abort/i);
    await until(seen, "aborted cancelled");
    seen.events.length = 0;
  });

  test("a client that is gone cancels its calls", async () => {
    const client = await connect(era);
    const called = client.callTool({ name: "Shop_wait" });
    await until(seen, "waiting");
    await client.close();
    await expect(called).rejects.toThrow(/closed/i);
    await until(seen, "aborted cancelled");
    seen.events.length = 0;
  });
});

async function post(body: unknown, headers: Record<string, string> = {}, to = newHandler()): Promise<Response> {
  return to(
    new Request("http://shop.example/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: "Bearer ada",
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    }),
  );
}

const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };

describe("refused", () => {
  test("pages of other origins, and who does not sign in, before anything is read", async () => {
    expect((await post(list)).status).toBe(200);
    expect((await post(list, { origin: "https://evil.example" })).status).toBe(403);
    const unknown = newHandler();
    const body = new ReadableStream({ pull: () => Promise.reject(new Error("read")) });
    const request = new Request("http://shop.example/mcp", { method: "POST", body, duplex: "half" } as RequestInit);
    expect((await unknown(request)).status).toBe(401);
  });

  test("what is too large, no JSON, or a batch", async () => {
    const small = newHandler({ limits: { maxFrameBytes: 1000 } });
    expect((await post({ ...list, params: { pad: "x".repeat(1000) } }, {}, small)).status).toBe(429);
    expect((await post("{")).status).toBe(400);
    expect(await (await post([list, list])).json()).toMatchObject({ code: "invalid_argument" });
    const many = newHandler({ limits: { maxSessionBytes: 1_000_000 } });
    expect((await post(`{"a":[${"[],".repeat(100_000)}0]}`, {}, many)).status).toBe(429);
  });

  test("requests beyond the calls that a server takes, and of one that drains", async () => {
    const busy = newHandler({ limits: { maxCalls: 1 } });
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "Shop_wait", arguments: {} } };
    const first = post(call, {}, busy);
    await until(seen, "waiting");
    expect((await post(list, {}, busy)).status).toBe(429);
    const drained = busy.drain({ timeoutMs: 1 });
    expect((await post(list, {}, busy)).status).toBe(503);
    await drained;
    expect(await (await first).text()).toContain("unavailable");
    seen.events.length = 0;
  });

  test("methods that cannot be tools", async () => {
    const { defineMethod, uncheckedCodec } = await import("@quicrpc/core/generated");
    const method = defineMethod({ name: "test.v1.Hand", id: 1 }, "unary", "made", {
      id: 1,
      input: uncheckedCodec(),
      meta: { mcp: true },
    });
    const errors: unknown[] = [];
    const hand = newHandler({
      routers: [{ methods: [{ method, handler: () => undefined }] }],
      onError: (error) => void errors.push(error),
    });
    expect((await post(list, {}, hand)).status).toBe(500);
    expect(String(errors[0])).toContain("test.v1.Hand/made cannot be a tool: its service has no schemas");
  });
});
