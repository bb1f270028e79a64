// Tests the guides' use of Redis and NATS if these servers are available; see packages/redis and packages/nats.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createOnceKey } from "@quicrpc/durable";
import { connect, devCertificate, serve } from "@quicrpc/node";
import { createClient } from "redis";
import { expect, it, onTestFinished, vi } from "vitest";
import { announceOrders, findOrders } from "./found.js";
import { createBankClient, createBankRouter } from "./generated/bank.js";
import { createOrdersClient, createOrdersRouter } from "./generated/orders.js";
import { chatOverNats } from "./nats.js";
import { serveOnceByRedis } from "./redis.js";

/** Where the servers of this test are. */
const at = vi.hoisted(() => ({ redis: "", nats: "" }));
vi.mock(import("@quicrpc/node"), async (actual) => (await import("./loopback.js")).nodeOnLoopback(await actual()));
vi.mock(import("redis"), async (actual) => {
  const { createClient, ...rest } = await actual();
  const onLoopback = ({ commandOptions }: { readonly commandOptions?: object } = {}): unknown =>
    createClient({ ...(commandOptions && { commandOptions }), socket: { path: at.redis } } as never);
  return { ...rest, createClient: onLoopback as typeof createClient };
});
vi.mock(import("@nats-io/transport-node"), async (actual) => {
  const { connect, ...rest } = await actual();
  const onLoopback: typeof connect = async () => {
    const nats = await connect({ servers: at.nats });
    onTestFinished(() => nats.close());
    return nats;
  };
  return { ...rest, connect: onLoopback };
});
vi.mock(import("@quicrpc/nats"), async (actual) => {
  const { natsTopics, ...rest } = await actual();
  return { ...rest, natsTopics: (options) => natsTopics({ ...options, servers: at.nats }) };
});

const redisServer = ["redis-server", "valkey-server"].find((name) => spawnSync(name, ["--version"]).status === 0);
const built = fileURLToPath(new URL("../../../.cache/nats-server/nats-server", import.meta.url));
const natsServer = [built, "nats-server"].find((name) => spawnSync(name, ["--version"]).status === 0);

/** Starts a server for this test. Returns what its output has by the time it matches. */
async function started(command: string, options: readonly string[], ready: RegExp): Promise<RegExpExecArray> {
  const child: ChildProcess = spawn(command, options, { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  let said = "";
  return new Promise((resolve, reject) => {
    for (const output of [child.stdout, child.stderr]) {
      output?.on("data", (text) => {
        said += String(text);
        const match = ready.exec(said);
        if (match !== null) resolve(match);
      });
    }
    child.once("exit", () => reject(new Error(`${command} has ended: ${said}`)));
  });
}

async function startNats(): Promise<void> {
  const [, port] = await started(
    natsServer ?? "",
    ["-a", "127.0.0.1", "-p", "-1", "-js", "-sd", mkdtempSync(join(tmpdir(), "quicrpc-nats-"))],
    /Listening for client connections on [\d.]+:(\d+)[^]*Server is ready/,
  );
  at.nats = `127.0.0.1:${port}`;
}

it.skipIf(redisServer === undefined)("a call takes effect once, by Redis", async () => {
  const folder = mkdtempSync(join(tmpdir(), "quicrpc-redis-"));
  at.redis = join(folder, "redis.sock");
  const options = ["--port", "0", "--unixsocket", at.redis, "--save", "", "--maxmemory-policy", "noeviction"];
  await started(redisServer ?? "", options, /eady to accept connections/);
  let ran = 0;
  const router = createBankRouter({ transfer: () => ({ id: String(++ran) }), balance: () => ({ cents: 0 }) });
  const { server, client } = await serveOnceByRedis(await devCertificate(), [router], () => "ann");
  const bank = createBankClient(await connect(server.urls[0] ?? ""));
  const onceKey = createOnceKey();
  for (let times = 0; times < 2; times++) {
    expect(await bank.transfer({ from: "ann", to: "bob", cents: 1 }, { onceKey })).toEqual({ id: "1" });
  }
  const looking = createClient();
  await looking.connect();
  expect(await looking.keys("quicrpc:once:*")).toHaveLength(1);
  for (const one of [client, looking]) one.destroy();
});

it.skipIf(natsServer === undefined)("a message crosses NATS", async () => {
  await startNats();
  const chat = await chatOverNats();
  const items = await chat.room.subscribe({ id: "7" });
  await chat.room.publish({ id: "7", message: { from: "Ada", text: "hello" } });
  for await (const { message } of items) {
    expect(message).toEqual({ from: "Ada", text: "hello" });
    break;
  }
});

it.skipIf(natsServer === undefined)("a pool finds a server that NATS knows", async () => {
  await startNats();
  const router = createOrdersRouter({ async *list() {}, prices: () => ({ tea: 3 }), cancel() {} });
  const { urls } = await serve({ listen: "quic://0.0.0.0:4433", tls: await devCertificate(), routers: [router] });
  const leave = await announceOrders(urls[0] ?? "");
  const pool = await findOrders();
  expect(await createOrdersClient(pool).prices()).toEqual({ tea: 3 });
  leave();
});
