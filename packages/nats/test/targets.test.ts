// Servers that a pool finds by NATS: they come, end and die.
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { connectPool, serve, type Server } from "@quicrpc/node";
import { beforeEach, describe, expect, it, type TestContext, vi } from "vitest";
import { closedAfterEach } from "../../../test/open.js";
import { announceTargets, natsTargets } from "../src/index.js";
import { NatsProcess, natsServer, WITHOUT_NATS } from "./nats-server.js";

const open = closedAfterEach();
const PATIENT = { interval: 1, timeout: 10_000 };
const service = { name: "test.v1.Found", id: 7070 };
const where = defineMethod(service, "unary", "where", { id: 1, idempotent: true, output: uncheckedCodec<string>() });

describe("servers that NATS knows", () => {
  let nats: NatsConnection;

  beforeEach(async (context: TestContext) => {
    if (natsServer === undefined) context.skip(WITHOUT_NATS);
    const server = new NatsProcess();
    open.push({ close: () => server.remove() });
    await server.start();
    nats = await connect({ servers: server.url });
    open.push(nats);
  });

  async function start(name: string): Promise<{ readonly server: Server; readonly leave: () => void }> {
    const routers = [createRouter({ where }, { where: () => name })];
    const server = await serve({ listen: "tcp://127.0.0.1:0", routers });
    open.push(server);
    return { server, leave: announceTargets(nats, "shop.orders", server.urls) };
  }

  it("get calls when they come, and none when they leave", async () => {
    const first = await start("first");
    const other = await connect({ servers: nats.getServer() });
    open.push(other);
    const pool = await connectPool(natsTargets(other, "shop.orders", { quietMs: 100 }), {
      balance: "roundRobin",
      refreshMs: 20,
    });
    open.push(pool);
    expect(await pool.unary(where, undefined)).toBe("first");
    await start("second");
    const seen = new Set<string>();
    await vi.waitUntil(async () => seen.add(await pool.unary(where, undefined)).size === 2, PATIENT);
    first.leave();
    await vi.waitUntil(() => pool.targets.length === 1, PATIENT);
    await first.server.drain();
    for (let calls = 0; calls < 10; calls++) expect(await pool.unary(where, undefined)).toBe("second");
  });

  it("are kept though one of their answers is late, and left out after the second", async () => {
    const resolve = natsTargets(nats, "shop.orders", { quietMs: 100 });
    const { signal } = new AbortController();
    const found = async () => new Set(await resolve(signal));
    // As with a name unknown to DNS, the pool keeps its targets.
    await expect(resolve(signal)).rejects.toThrow("no responders");
    const leave = announceTargets(nats, "shop.orders", ["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"]);
    announceTargets(nats, "shop.orders", ["tcp://127.0.0.1:3"]);
    announceTargets(nats, "shop.other", ["tcp://127.0.0.1:4"]);
    const all = new Set(["tcp://127.0.0.1:1", "tcp://127.0.0.1:2", "tcp://127.0.0.1:3"]);
    expect(await found()).toEqual(all);
    leave();
    expect(await found()).toEqual(all);
    expect(await found()).toEqual(new Set(["tcp://127.0.0.1:3"]));
  });

  it("are not made of answers that are none", async () => {
    const answers = ["", "no JSON", "{}", '[1, "no url", "tcp://127.0.0.1:4"]', JSON.stringify(["x".repeat(10_000)])];
    for (const answer of answers) {
      nats.subscribe("quicrpc.targets.shop.orders", { callback: (_, question) => void question.respond(answer) });
    }
    const resolve = natsTargets(nats, "shop.orders", { quietMs: 100 });
    expect(await resolve(new AbortController().signal)).toEqual(["tcp://127.0.0.1:4"]);
    expect(() => natsTargets(nats, "shop.*")).toThrow("words separated by dots");
    expect(() => announceTargets(nats, "shop.orders", [])).toThrow("1 to 16 URLs");
  });
});
