import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createFetchHandler, toNodeHandler } from "@quicrpc/http";
import { createReflection } from "@quicrpc/services";
import { RpcError, rpcError } from "@quicrpc/core";
import { type Article, createShopRouter, shopMethods } from "./generated/shop.js";

export const teapot: Article = {
  id: 9_007_199_254_740_993n,
  name: "Teapot",
  kind: "used",
  price: 12.5,
  listedAt: new Date("2026-01-31T12:00:00.000Z"),
  picture: new Uint8Array([1, 2, 255]),
  tags: new Set(["tea", "pot"]),
  stock: new Map([["berlin", 3]]),
  notes: { a: "chipped", b: null },
  size: [10, 20],
  color: "blue",
};

export const router = createShopRouter({
  get: ({ id }) => {
    if (id === 1n) throw rpcError(shopMethods.get, "GONE", { since: new Date("2026-01-01T00:00:00Z") });
    if (id === 2n) throw new RpcError("not_found", "no such article");
    return { ...teapot, id };
  },
  add: (article) => article,
  buy: ({ payment }) => ({ total: payment.by === "card" ? 10 : 12, url: "https://example.org/receipt" }),
  categories: () => ({ name: "all", parts: [{ name: "pots", parts: [] }] }),
  async *watch() {
    yield await Promise.resolve(teapot);
  },
  upload: async (articles) => {
    let count = 0;
    for await (const _article of articles) count++;
    return { count };
  },
  log: () => {},
  ping: () => {},
  manual: async ({ file }) => {
    const content = new Blob([await file.bytes()]);
    return { bytes: content.size, file: { content, type: file.type, name: file.name } };
  },
});

/** The shop at a port of this machine. */
export interface RunningShop extends AsyncDisposable {
  readonly url: string;
}

export async function runShop(): Promise<RunningShop> {
  const handler = createFetchHandler({
    routers: [router, createReflection([router])],
    openApi: { info: { title: "shop", version: "1.0.0" } },
  });
  const server: Server = createServer(toNodeHandler(handler));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
