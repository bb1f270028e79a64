// Servers that drain and come back under load: no call fails, and the state says no more than happened.
import { type TypedCaller, RpcError } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { connect, connectPool, devCertificate, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { describe, expect, it, vi } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import { methods } from "../../../test/behaviour/service.js";
import { trustOf } from "./trust.js";
import { closedAfterEach } from "../../../test/open.js";

const open = closedAfterEach();

const { echo, items } = methods;
const schemes = process.env["QUICRPC_NO_ENGINE"] === undefined ? ["quic", "https", "tls", "wss"] : ["tls", "wss"];
const RESTARTS = 6;
const CALLERS = 16;
const PATIENT = { interval: 5, timeout: 30_000 };

async function served(url: string, options: Partial<ServeOptions> = {}): Promise<Server> {
  return serve({
    ...options,
    listen: [url],
    tls: await devCertificate(),
    routers: [
      createRouter(
        { echo, items },
        {
          // Some are in progress when the drain begins.
          echo: async ({ text }) => {
            await new Promise((resolve) => setImmediate(resolve));
            return { text };
          },
          items: async function* ({ n }) {
            for (let i = 0; i < n; i++) {
              await new Promise((resolve) => setImmediate(resolve));
              yield { i };
            }
          },
        },
      ),
    ],
  });
}

/** Calls without a pause until told to stop; gives how many calls there were, and how each that failed did. */
function load(caller: TypedCaller): {
  /** Waits until each caller has made some more calls. */
  more(): Promise<void>;
  stop(): Promise<{ calls: number; failures: string[] }>;
} {
  const stopping = new AbortController();
  let calls = 0;
  let reached = { calls: Number.POSITIVE_INFINITY, resolve: (): void => {} };
  const failures: string[] = [];
  const run = async (once: () => Promise<unknown>): Promise<void> => {
    while (!stopping.signal.aborted) {
      if (++calls >= reached.calls) reached.resolve();
      await once().catch((error: unknown) => failures.push(error instanceof RpcError ? error.message : String(error)));
    }
  };
  const stream = async (): Promise<void> => {
    const got: number[] = [];
    for await (const { i } of caller.serverStream(items, { n: 3 })) got.push(i);
    if (got.join() !== "0,1,2") throw new Error(`items ${got.join()}`);
  };
  const runs = Array.from({ length: CALLERS }, (_, n) =>
    run(n % 2 === 0 ? stream : () => caller.unary(echo, { text: "x" }, { via: n % 4 === 1 ? "lane" : "stream" })),
  );
  return {
    more: () => new Promise((resolve) => (reached = { calls: calls + 4 * CALLERS, resolve })),
    async stop() {
      stopping.abort();
      await Promise.all(runs);
      return { calls, failures };
    },
  };
}

/** Collects the names of the states until it is stopped. */
function watched(states: AsyncIterableIterator<{ status: string }>): string[] {
  const seen: string[] = [];
  void (async () => {
    for await (const { status } of states) if (seen.at(-1) !== status) seen.push(status);
  })();
  return seen;
}

describe.each(schemes)("rolling restarts over %s", (scheme) => {
  it("sessions of a certain age: each is followed by another, and no call fails", { timeout: 60_000 }, async () => {
    const { hash } = await devCertificate();
    let began = 0;
    let enough = (): void => {};
    const several = new Promise<void>((resolve) => (enough = resolve));
    const onSession = (): void => {
      if (++began === RESTARTS) enough();
    };
    const server = await served(`${scheme}://127.0.0.1:0/rpc`, { advanced: { maxSessionAgeMs: 50, onSession } });
    open.push(server);
    const url = server.urls[0] as string;
    const connection = await connect(url, trustOf(url, { hash }));
    open.push(connection);
    const calls = load(connection);
    await several;
    const { failures } = await calls.stop();
    expect(failures).toEqual([]);
  });

  it("one server: no call fails, and the state changes as often as the server does", { timeout: 60_000 }, async () => {
    const { hash } = await devCertificate();
    let server = await served(`${scheme}://127.0.0.1:${await freePort()}/rpc`);
    const url = server.urls[0] as string;
    const connection = await connect(url, trustOf(url, { hash }));
    open.push(connection);
    const seen = watched(connection.states());
    const calls = load(connection);
    for (let i = 0; i < RESTARTS; i++) {
      await calls.more();
      await server.drain();
      server = await served(url);
      await vi.waitUntil(() => connection.state.status === "ready", PATIENT);
    }
    open.unshift(server);
    const { calls: made, failures } = await calls.stop();
    expect(failures).toEqual([]);
    expect(made).toBeGreaterThan(RESTARTS * CALLERS);
    expect(seen.filter((status) => status === "ready").length).toBeLessThanOrEqual(RESTARTS + 1);
  });

  it("a pool of two: no call fails, and the pool stays ready", { timeout: 60_000 }, async () => {
    const { hash } = await devCertificate();
    const servers = await Promise.all([0, 1].map(async () => served(`${scheme}://127.0.0.1:${await freePort()}/rpc`)));
    const urls = servers.map((server) => server.urls[0] as string);
    const pool = await connectPool(urls, trustOf(urls[0] as string, { hash }));
    open.push(pool);
    const allReady = (): Promise<unknown> =>
      vi.waitUntil(() => pool.targets.every(({ status }) => status === "ready"), PATIENT);
    await allReady();
    const seen = watched(pool.states());
    const calls = load(pool);
    for (let i = 0; i < RESTARTS; i++) {
      const at = i % 2;
      await calls.more();
      await servers[at]?.drain();
      servers[at] = await served(urls[at] as string);
      await allReady();
    }
    for (const server of servers) open.unshift(server);
    const { calls: made, failures } = await calls.stop();
    expect(failures).toEqual([]);
    expect(made).toBeGreaterThan(RESTARTS * CALLERS);
    expect(seen).toEqual(["ready"]);
  });
});
