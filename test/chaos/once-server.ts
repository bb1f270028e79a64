// A server whose calls take effect once, in a process that ends itself wherever its callers want.
import { openSync, writeSync } from "node:fs";
import { MemoryOnceStore, type OnceStore } from "@quicrpc/durable";
import { createRouter } from "@quicrpc/core/generated";
import { durableRouter } from "@quicrpc/durable/generated";
import { devCertificate, serve } from "@quicrpc/node";
import { RedisOnceStore } from "@quicrpc/redis";
import { createClient } from "redis";
import { add, LEASE_MS, type OnceServerSettings } from "./once-contract.js";

const { listen, journal, socket } = JSON.parse(process.argv[2] ?? "{}") as OnceServerSettings;
const file = openSync(journal, "a");

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

async function newStore(): Promise<OnceStore> {
  if (socket === undefined) return new MemoryOnceStore();
  const client = createClient({ socket: { path: socket, reconnectStrategy: 20 }, commandOptions: { timeout: 1000 } });
  client.on("error", () => {});
  await client.connect();
  return new RedisOnceStore(client);
}

/** Ids of calls after whose record the process ends. */
const doomed = new Set<string>();
const store = await newStore();
const settle = store.settle.bind(store);
store.settle = async (id, owner, record) => {
  const settled = await settle(id, owner, record);
  if (doomed.has(id)) die();
  return settled;
};

const router = durableRouter(
  createRouter(
    { add },
    {
      async add({ fate }, { once }) {
        if (once === undefined) throw new Error("the call has no key");
        if (fate === "killed before") die();
        if (fate === "slow") await new Promise((resolve) => setTimeout(resolve, 30));
        // Nothing of the process runs, renewals neither.
        if (fate === "paused") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LEASE_MS * 1.5);
        writeSync(file, `${once.principal} ${once.key}\n`);
        if (fate === "killed after") die();
        if (fate === "killed recorded") doomed.add(once.id);
        if (fate === "killed answered") setTimeout(die, 5);
        return `${once.principal} ${once.key}`;
      },
    },
  ),
);

const { cert, key } = await devCertificate();
const server = await serve({
  listen: [listen],
  tls: { cert, key },
  routers: [router],
  authenticate: async ({ credentials }) => (await credentials) ?? "nobody",
  onError: () => {},
  advanced: { once: { store, leaseMs: LEASE_MS } },
});
process.send?.(server.urls[0]);
