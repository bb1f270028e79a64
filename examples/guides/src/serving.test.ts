import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { connect, devCertificate, type Server } from "@quicrpc/node";
import { createHealthClient, createReflectionClient, createTimingsClient } from "@quicrpc/services";
import { beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { serveRenewing } from "./acme.js";
import { serveByBoth, serveByFails } from "./fails.js";
import { createOrdersClient, createOrdersRouter, type OrdersHandlers } from "./generated/orders.js";
import { placed } from "./loopback.js";
import {
  serveAndConnect,
  serveAnyhow,
  serveBehindBalancer,
  serveBehindPlatform,
  serveBySystemd,
  serveDeployed,
  serveHealth,
  serveHttp,
  serveOrders,
  servePages,
  servePublic,
  serveRenewed,
  serveTimings,
} from "./serving.js";

vi.mock(import("@quicrpc/node"), async (actual) => (await import("./loopback.js")).nodeOnLoopback(await actual()));
vi.mock(import("node:fs/promises"), async (actual) => {
  const { placed } = await import("./loopback.js");
  const { readFile, ...rest } = await actual();
  const read = (path: string, ...more: never[]): unknown =>
    readFile(path.startsWith("/etc/") ? placed(path) : path, ...more);
  return { ...rest, readFile: read as typeof readFile };
});

const handlers: OrdersHandlers = {
  async *list() {
    yield { id: "1", item: "tea" };
  },
  prices: () => ({ tea: 3 }),
  cancel() {},
};
const router = createOrdersRouter(handlers);
let tls: Awaited<ReturnType<typeof devCertificate>>;

beforeAll(async () => {
  tls = await devCertificate();
  await writeFile(placed("/etc/tls/tls.crt"), tls.cert);
  await writeFile(placed("/etc/tls/tls.key"), tls.key);
  await writeFile(placed("/etc/quicrpc/secret"), randomBytes(32));
});

async function pricesOver(server: Server): Promise<unknown[]> {
  return Promise.all(
    server.urls
      .filter((url) => !url.startsWith("http:"))
      .map(async (url) => createOrdersClient(await connect(url)).prices()),
  );
}

it("one server listens on several transports, and knows who calls", async () => {
  const found = vi.fn<(token: string | undefined) => Promise<{ name: string } | undefined>>(async (token) =>
    token === "ann's" ? { name: "ann" } : undefined,
  );
  const { urls } = await serveOrders({ find: found }, handlers);
  expect(urls.map((url) => url.slice(0, url.indexOf(":")))).toEqual(["quic", "wss", "unix"]);
  const { urls: publicUrls } = await servePublic(tls, { find: found }, handlers);
  for (const url of [...urls, ...publicUrls]) {
    const known = await connect(url, { credentials: "ann's" });
    expect(await createOrdersClient(known).prices()).toEqual({ tea: 3 });
    await expect(connect(url, { credentials: "a stranger's" })).rejects.toMatchObject({ code: "unauthenticated" });
  }
});

it("a renewed certificate is taken without a restart, and a bad one is reported", async () => {
  const error = vi.fn<(error: Error) => void>();
  const stop = await serveRenewed([router], { error });
  const connection = await connect("quic://orders.example:4433");
  expect(await createOrdersClient(connection).prices()).toEqual({ tea: 3 });
  const good = await readFile("/etc/tls/tls.crt");
  onTestFinished(() => writeFile(placed("/etc/tls/tls.crt"), good));
  await writeFile(placed("/etc/tls/tls.crt"), "no certificate");
  await vi.waitUntil(() => error.mock.calls.length > 0, { timeout: 15_000 });
  stop();
});

it("a deployed server answers probes, and calls over each transport", async () => {
  const server = await serveDeployed([router]);
  for (const prices of await pricesOver(server)) expect(prices).toEqual({ tea: 3 });
  const http = server.urls.find((url) => url.startsWith("http:"));
  expect((await fetch(`${http}readyz`)).status).toBe(200);
});

it("outside systemd there are no sockets to take", async () => {
  await expect(serveBySystemd(tls, randomBytes(32), [router])).rejects.toThrow(/systemd/);
});

it("servers for balancers, for all transports, for pages and for HTTP take calls", async () => {
  expect(await pricesOver(await serveBehindBalancer(tls, [router]))).toHaveLength(1);
  expect(await pricesOver(await serveBehindPlatform([router]))).toHaveLength(1);
  expect(await pricesOver(await serveAnyhow(tls, [router]))).toHaveLength(3);
  expect(await pricesOver(await servePages(tls, [router]))).not.toHaveLength(0);
  expect((await serveHttp(tls, [router])).urls).not.toHaveLength(0);
});

it("client and server of one program", async () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  const orders = await serveAndConnect({
    ...handlers,
    prices: (_, { connection }) => ({ [`${connection.address}`]: 1 }),
  });
  expect(await orders.prices()).toEqual({ "127.0.0.1": 1 });
  expect(log.mock.calls.flat()[1]).toMatch(/^quic:/);
  log.mockRestore();
});

it("health and reflection are services like others", async () => {
  const server = await serveHealth(tls, router);
  const connection = await connect(server.urls[0] ?? "");
  const { services } = await createReflectionClient(connection).list();
  expect(services.map(({ name }) => name)).toContain("shop.v1.Orders");
  expect(await createHealthClient(connection).check({ service: "shop.v1.Orders" })).toEqual({ status: "not_serving" });
});

it("a server measures calls that are named", async () => {
  const server = await serveTimings(tls, router, () => ({ name: "ann" }));
  const connection = await connect(server.urls[0] ?? "");
  await createOrdersClient(connection).prices({ metadata: { "call-name": "a name nobody guesses" } });
  const { handlerMs } = await createTimingsClient(connection).of({ name: "a name nobody guesses" });
  expect(handlerMs).toBeTypeOf("number");
});

it("a certificate that has most of its time left is not ordered again", async () => {
  const report = vi.fn<(error: unknown) => void>();
  const server = await serveRenewing([router], report);
  expect(await pricesOver(server)).toEqual([{ tea: 3 }]);
  expect(report).not.toHaveBeenCalled();
});

it("@fails-components/webtransport in place of the engine, and beside it", async () => {
  const [server, connection] = await serveByFails(tls, [router]);
  expect(await createOrdersClient(connection).prices()).toEqual({ tea: 3 });
  await server.close();
  expect(await pricesOver(await serveByBoth(tls, [router]))).not.toHaveLength(0);
});
