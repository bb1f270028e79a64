// Each effect once, or an error that says "unknown": whatever becomes of packets, servers and stores.
import { appendFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisServer, SERVER } from "../../packages/redis/test/redis-server.js";
import { onceStorm } from "./once-storm.js";

const calls = Number(process.env["QUICRPC_ONCE_CALLS"] ?? 600);
const seed = Number(process.env["QUICRPC_ONCE_SEED"] ?? 1);
const scheme = process.env["QUICRPC_NO_ENGINE"] === undefined ? "quic:" : "tls:";
if (SERVER === undefined) console.log("skipped: no redis-server (as root: apt-get install redis-server)");

describe.each([
  ["in memory", false],
  ["in Redis", true],
] as const)("calls that take effect once, with a store %s", (store, isRedis) => {
  let redis: RedisServer | undefined;
  beforeAll(async () => {
    if (isRedis && SERVER !== undefined) redis = await RedisServer.start();
  });
  afterAll(() => redis?.stop());

  it.skipIf(isRedis && SERVER === undefined)(
    "take effect once, or are unknown",
    { timeout: 60_000 + calls * 30 },
    async () => {
      // A few dooms in a short run; in a long one as many as servers can be started again.
      const doom = Math.max(8 / calls, 0.001);
      const account = await onceStorm({ scheme, calls, workers: 32, seed, doom, redis });
      const accounts = process.env["QUICRPC_ONCE_ACCOUNTS"];
      if (accounts !== undefined) appendFileSync(accounts, `${JSON.stringify({ store, ...account })}\n`);
      expect(account).toMatchObject({ hung: 0, wrong: [], twice: 0, missing: 0 });
      expect(account.answered + account.unknown).toBe(account.calls);
      expect(account.answered).toBeGreaterThan(account.calls / 2);
      for (const faults of [account.kills, account.stops, account.blackouts]) expect(faults).toBeGreaterThan(0);
    },
  );
});
