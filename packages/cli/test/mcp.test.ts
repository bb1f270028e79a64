// Tools over stdio, called by the official client: `quicrpc mcp <url>`.
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { RpcError } from "@quicrpc/core";
import { serve, type Server } from "@quicrpc/node";
import { createReflection } from "@quicrpc/services";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newSeen, newShop, until } from "../../mcp/test/shop.js";

const main = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const seen = newSeen();
let server: Server;

beforeAll(async () => {
  const router = newShop(seen);
  server = await serve<string>({
    listen: ["tcp://127.0.0.1:0"],
    routers: [router, createReflection([router])],
    authenticate: async ({ credentials }) => {
      const user = await credentials;
      if (user === undefined) throw new RpcError("unauthenticated", "sign in first");
      return user;
    },
  });
});
afterAll(() => server.close());

test("the official client lists, calls and cancels", { timeout: 60_000 }, async () => {
  const [url = ""] = server.urls;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, "mcp", url, "--credentials-from", "SHOP_TOKEN"],
    env: { SHOP_TOKEN: "ada" },
    stderr: "pipe",
  });
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).not.toContain("Shop_empty");
  expect(tools).toHaveLength(7);

  const article = { id: "7", price: "9007199254740993", addedAt: "1970-01-01T00:00:00.000Z", stock: { berlin: 3 } };
  const added = await client.callTool({ name: "Shop_add", arguments: { ...article, tags: ["new"] } });
  expect(added.structuredContent).toEqual({ ...article, tags: ["new"] });
  expect((await client.callTool({ name: "Shop_whoAmI" })).structuredContent).toEqual({ user: "ada" });

  const gone = await client.callTool({ name: "Shop_find", arguments: { id: "gone" } });
  expect(gone).toMatchObject({
    isError: true,
    structuredContent: {
      error: { code: "not_found", message: "sold out", details: { since: "1970-01-01T00:00:00.000Z" } },
    },
  });
  const wrong = await client.callTool({ name: "Shop_find", arguments: { id: 7 } });
  expect(wrong.structuredContent).toMatchObject({ error: { code: "invalid_argument" } });

  const lines = await client.callTool({ name: "Shop_lines", arguments: { n: 2 } });
  expect(lines.structuredContent).toEqual({ items: [{ line: 0 }, { line: 1 }] });

  // The client drops progress that arrives together with the result: here no result comes before it was seen.
  const cancel = new AbortController();
  const progress: unknown[] = [];
  const onprogress = (said: { progress: number }): void => {
    progress.push(said);
    cancel.abort();
  };
  const called = client.callTool({ name: "Shop_lines", arguments: { n: -1 } }, { onprogress, signal: cancel.signal });
  await expect(called).rejects.toThrow(/abort/i);
  expect(progress).toEqual([{ progress: 1, message: '{"line":0}' }]);
  await until(seen, "lines aborted");
  await client.close();
});
