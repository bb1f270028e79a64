// Middleware below a path: Express cuts the path from `url`, and keeps it in `originalUrl`.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createFetchHandler, toNodeHandler } from "@quicrpc/http";
import { createRouter, defineMethod } from "@quicrpc/core/generated";
import { expect, onTestFinished, test } from "vitest";

const ping = defineMethod({ name: "a.v1.A", id: 1 }, "unary", "ping", { id: 1 });
const routers = [createRouter({ ping }, { ping: () => {} })];

/** Serves a handler as `app.use("/rpc", …)` does. Returns what fetches a path: the status and the answer. */
async function mounted(path: string | undefined): Promise<(path: string) => Promise<string>> {
  const handler = toNodeHandler(createFetchHandler({ routers, ...(path !== undefined && { prefix: path }) }));
  const server = createServer((request, response) => {
    const { url = "" } = request;
    const cut = Object.assign(request, { originalUrl: url, url: url.slice("/rpc".length) });
    handler(cut, response, () => response.writeHead(404).end("next"));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return async (path) => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body: "{}" });
    return `${answer.status} ${await answer.text()}`;
  };
}

test.each([undefined, "/rpc"])(
  "a handler with the path %s is called below the path that it is mounted at",
  async (path) => {
    const fetched = await mounted(path);
    expect(await fetched("/rpc/a.v1.A/ping")).toBe("200 {}");
    expect(await fetched("/rpc/other")).toBe("404 next");
  },
);
