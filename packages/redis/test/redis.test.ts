// The store in Redis: its contract, by a server of its own, which is also killed.
import { createSession, type RpcError } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createOnceKey, onceFailure, type OnceStore } from "@quicrpc/durable";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { durableRouter, onceCalls } from "@quicrpc/durable/generated";
import { RedisOnceStore } from "@quicrpc/redis";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { onceStoreContract } from "../../durable/test/once-store-contract.js";
import { RedisServer, SERVER } from "./redis-server.js";

if (SERVER === undefined) console.log("skipped: no redis-server (as root: apt-get install redis-server)");

type Client = ReturnType<typeof createClient>;

async function connectTo(server: RedisServer): Promise<Client> {
  const socket = { path: server.socket, reconnectStrategy: 20 } as const;
  const client = createClient({ socket, commandOptions: { timeout: 2000 } });
  client.on("error", () => {});
  await client.connect();
  return client as Client;
}

// oxlint-disable-next-line eslint/no-restricted-globals -- Redis has a clock of its own
const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(SERVER === undefined)("Redis", () => {
  let server: RedisServer;
  let client: Client;
  beforeAll(async () => {
    server = await RedisServer.start();
    client = await connectTo(server);
  });
  afterAll(async () => {
    client?.destroy();
    await server?.stop();
  });

  onceStoreContract("the store in Redis", async () => ({ store: new RedisOnceStore(client), pass }));

  it("forgets no call when it is killed and started again", async () => {
    const store: OnceStore = new RedisOnceStore(client, { prefix: "other:" });
    const claim = { principal: "a", madeAt: Date.now(), first: true, startable: true, fingerprint: "f" };
    const times = { leaseMs: 60_000, keepMs: 60_000 };
    await store.claim("done", { ...claim, ...times, owner: "o" });
    await store.settle("done", "o", Uint8Array.of(7));
    await store.claim("running", { ...claim, ...times, owner: "o" });
    await server.kill();
    await server.run();
    expect(await store.find("done")).toEqual({ state: "done", fingerprint: "f", record: Uint8Array.of(7) });
    expect(await store.renew("running", "o", 60_000)).toBe(true);
    expect(await store.settle("running", "o", Uint8Array.of(8))).toBe(true);
  });

  it("that is gone runs nothing, and what it was told before is answered when it is back", async () => {
    const service = { name: "test.v1.Counter", id: 4712 };
    const any = uncheckedCodec<unknown>();
    const add = defineMethod(service, "unary", "add", { id: 1, input: any, output: any, extension: onceCalls });
    let effects = 0;
    const router = durableRouter(createRouter({ add }, { add: () => ++effects }));
    const [near, far] = createMemoryPair();
    const once = { store: new RedisOnceStore(client, { prefix: "third:" }), leaseMs: 500 };
    createSession(far, { routers: [router], once, onError: () => {} });
    const session = createSession(near);
    const onceKey = createOnceKey();
    expect(await session.unary(add, 1, { onceKey })).toBe(1);
    await server.kill();
    const failed = await session.unary(add, 2).then(
      () => undefined,
      (error: unknown) => error as RpcError,
    );
    expect(failed).toMatchObject({ code: "unavailable" });
    expect(onceFailure(failed)).toBeUndefined();
    expect(effects).toBe(1);
    await server.run();
    expect(await session.unary(add, 1, { onceKey })).toBe(1);
    expect(await session.unary(add, 3)).toBe(2);
  });
});
