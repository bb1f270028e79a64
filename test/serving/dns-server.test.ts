import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRouter } from "@quicrpc/core/generated";
import type { Pool } from "@quicrpc/pool";
import { connectPool, devCertificate, dnsTargets, serve, type Server } from "@quicrpc/node";
import { beforeEach, describe, expect, it } from "vitest";
import { methods } from "../behaviour/service.js";
import { freePort } from "../../scripts/free-port.mjs";
import { closedAfterEach } from "../open.js";

const open = closedAfterEach();
const { echo } = methods;
const NAME = "orders.test";
const scheme = process.env["QUICRPC_NO_ENGINE"] === undefined ? "quic" : "tls";
const hasServer = process.platform === "linux" && spawnSync("dnsmasq", ["--version"]).status === 0;

/** dnsmasq with the addresses of one name, which change as pods of a headless service do. */
class NameServer {
  readonly port: number;
  private readonly file: string;
  private readonly child: ChildProcess;
  private said = "";

  private constructor(port: number, folder: string) {
    this.port = port;
    this.file = join(folder, "hosts");
    writeFileSync(this.file, "");
    const own = ["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces"];
    const where = [`--port=${port}`, "--listen-address=127.0.0.1", `--addn-hosts=${this.file}`, "--pid-file="];
    this.child = spawn("dnsmasq", [...own, ...where, "--user=", "--log-facility=-"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.child.stderr?.on("data", (text: Buffer) => {
      this.said += text.toString();
    });
    open.push({ close: () => this.close(folder) });
  }

  static async start(): Promise<NameServer> {
    const server = new NameServer(await freePort(), mkdtempSync(join(tmpdir(), "quicrpc-dns-")));
    await server.read(1);
    return server;
  }

  /** Has the name stand for these addresses. Resolves when the server says so. */
  async set(...addresses: readonly string[]): Promise<void> {
    const { reads } = this;
    writeFileSync(this.file, addresses.map((address) => `${address} ${NAME}\n`).join(""));
    this.child.kill("SIGHUP");
    await this.read(reads + 1);
  }

  private get reads(): number {
    return this.said.split(`read ${this.file}`).length - 1;
  }

  /** Resolves once the file was read so many times. Rejects with what dnsmasq has said where it ends instead. */
  private async read(times: number): Promise<void> {
    const ended = once(this.child, "close").then(() => {
      throw new Error(`dnsmasq ended: ${this.said}`);
    });
    while (this.reads < times) await Promise.race([once(this.child.stderr ?? this.child, "data"), ended]);
    ended.catch(() => {});
  }

  private async close(folder: string): Promise<void> {
    this.child.kill();
    if (this.child.exitCode === null) await once(this.child, "exit");
    rmSync(folder, { recursive: true });
  }
}

async function pod(host: string, port: number): Promise<Server> {
  const server = await serve({
    listen: `${scheme}://${host}:${port}`,
    tls: await devCertificate(),
    routers: [createRouter({ echo }, { echo: () => ({ text: host }) })],
  });
  open.push(server);
  return server;
}

/** Calls without a pause, and what answered. */
class Caller {
  readonly errors: unknown[] = [];
  private readonly waiting = new Map<string, () => void>();
  private on = true;
  private readonly over: Promise<void>;

  constructor(pool: Pool) {
    const call = async (): Promise<void> => {
      while (this.on) {
        try {
          this.waiting.get((await pool.unary(echo, { text: "" })).text)?.();
        } catch (error) {
          this.errors.push(error);
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    this.over = call();
  }

  /** Resolves when this server answers. */
  heard(host: string): Promise<void> {
    return new Promise((resolve) => this.waiting.set(host, resolve));
  }

  stop(): Promise<void> {
    this.on = false;
    return this.over;
  }
}

describe("pods behind a DNS server, dnsmasq", () => {
  beforeEach(({ skip }) => skip(!hasServer, "it needs dnsmasq, as in Debian's dnsmasq-base, on Linux"));

  it("one that comes gets calls, one that goes costs none", async () => {
    const dns = await NameServer.start();
    const port = await freePort();
    const first = await pod("127.0.0.1", port);
    await pod("127.0.0.2", port);
    await dns.set("127.0.0.1", "127.0.0.2");
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${dns.port}`]);
    const { hash } = await devCertificate();
    const pool = await connectPool(dnsTargets(`${scheme}://${NAME}:${port}`, { records: "A", resolver }), {
      serverCertificateHashes: [hash],
      refreshMs: 200,
      balance: "roundRobin",
    });
    open.push(pool);
    const caller = new Caller(pool);
    open.push({ close: () => caller.stop() });
    const hosts = (): string[] => pool.targets.map(({ target }) => new URL(target.replace(/^\w+/, "http")).hostname);
    await Promise.all([caller.heard("127.0.0.1"), caller.heard("127.0.0.2")]);

    await pod("127.0.0.3", port);
    const began = performance.now();
    await dns.set("127.0.0.1", "127.0.0.2", "127.0.0.3");
    await caller.heard("127.0.0.3");
    const found = performance.now() - began;
    if (process.env["QUICRPC_DNS_TIMES"] !== undefined)
      console.log(`a pod that came has its first call after ${found} ms`);

    // Kubernetes takes a pod out of the name, then asks it to end.
    await dns.set("127.0.0.2", "127.0.0.3");
    await first.drain();
    expect(caller.errors).toEqual([]);
    while (hosts().includes("127.0.0.1")) await caller.heard("127.0.0.3");
    expect(hosts()).toEqual(expect.arrayContaining(["127.0.0.2", "127.0.0.3"]));
    // A name without addresses, or without a server, leaves the list as it was.
    await dns.set();
    await caller.heard("127.0.0.2");
    await caller.heard("127.0.0.3");
    expect(hosts()).toHaveLength(2);
    expect(caller.errors).toEqual([]);
  });
});
