import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Agent, get } from "node:https";
import { text } from "node:stream/consumers";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { axios } from "acme-client";
import { devCertificate, dial, serve, type Server, watchTls } from "@quicrpc/node";
import { afterAll, beforeAll, expect, it } from "vitest";
import { renewCertificate } from "./acme.js";

const PEBBLE = fileURLToPath(new URL("../../../.cache/pebble/pebble", import.meta.url));
/** Below those that systems hand out for port 0. */
const LEAST_PORT = 20_000;
const PORTS = 10_000;

interface Authority {
  readonly child: ChildProcess;
  readonly port: number;
  readonly rootsPort: number;
  readonly challengePort: number;
}

let folder: string;
let authority: Authority;
let ca: string;
let server: Server | undefined;

beforeAll(async () => {
  if (!existsSync(PEBBLE)) return;
  folder = await mkdtemp(join(tmpdir(), "quicrpc-acme-"));
  const { cert, key } = await devCertificate({ directory: folder });
  ca = cert;
  await writeFile(join(folder, "cert.pem"), cert);
  await writeFile(join(folder, "key.pem"), key);
  axios.defaults.httpsAgent = new Agent({ ca });
  authority = await started();
});
afterAll(async () => {
  await server?.close();
  if (authority === undefined) return;
  authority.child.kill();
  await once(authority.child, "exit");
  await rm(folder, { recursive: true });
});

/** Starts Pebble, the ACME server that Let's Encrypt tests clients with, where its ports are free. */
async function started(): Promise<Authority> {
  for (;;) {
    const [port = 0, rootsPort = 0, challengePort = 0] = Array.from(
      { length: 3 },
      () => LEAST_PORT + Math.floor(Math.random() * PORTS),
    );
    const pebble = {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${rootsPort}`,
      certificate: join(folder, "cert.pem"),
      privateKey: join(folder, "key.pem"),
      httpPort: challengePort,
      tlsPort: challengePort,
      profiles: { default: { description: "", validityPeriod: 7_776_000 } },
    };
    const config = join(folder, "pebble.json");
    await writeFile(config, JSON.stringify({ pebble }));
    const env = { ...process.env, PEBBLE_VA_NOSLEEP: "1" };
    const child = spawn(PEBBLE, ["-config", config], { env, stdio: "ignore" });
    const gone = once(child, "exit").then(() => false);
    if (await Promise.race([gone, answers(port)])) return { child, port, rootsPort, challengePort };
  }
}

/** Resolves when there is a server. */
async function answers(port: number): Promise<boolean> {
  for (;;) {
    const found = await fetched(`https://localhost:${port}/dir`).catch(() => undefined);
    if (found !== undefined) return true;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function fetched(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { ca }, (response) => void text(response).then(resolve, reject)).once("error", reject);
  });
}

it("orders certificates that clients of a running server trust, and renews them in time", async (context) => {
  if (!existsSync(PEBBLE)) context.skip("it needs Pebble: node scripts/pebble.mjs");
  const files = { cert: join(folder, "tls.crt"), key: join(folder, "tls.key"), account: join(folder, "account.key") };
  const { port, rootsPort, challengePort } = authority;
  const options = {
    directoryUrl: `https://localhost:${port}/dir`,
    name: "localhost",
    email: "orders@example.com",
    files,
    challengePort,
  };
  expect(await renewCertificate(options)).toBe(true);
  const first = await readFile(files.cert, "utf8");
  expect(await renewCertificate(options)).toBe(false);

  server = await serve({
    listen: "quic://127.0.0.1:0",
    tls: { cert: first, key: await readFile(files.key) },
    routers: [],
  });
  const root = await fetched(`https://localhost:${rootsPort}/roots/0`);
  const url = server.urls[0]?.replace("127.0.0.1", "localhost") ?? "";
  await (await dial(url, { ca: root })).close();

  let taken = (): void => {};
  const updated = new Promise<void>((resolve) => (taken = resolve));
  const account = await readFile(files.account, "utf8");
  const NEARLY_OVER = Date.now() + 80 * 24 * 3_600_000;
  expect(await renewCertificate(options, NEARLY_OVER)).toBe(true);
  expect(await readFile(files.cert, "utf8")).not.toBe(first);
  expect(await readFile(files.account, "utf8")).toBe(account);
  const stop = watchTls(server, files, { everyMs: 10, onUpdate: taken });
  await updated;
  stop();
  await (await dial(url, { ca: root })).close();
}, 120_000);
