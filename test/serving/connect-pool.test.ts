import { createRouter } from "@quicrpc/core/generated";
import { connectPool, devCertificate, dnsTargets, serve, type Server } from "@quicrpc/node";
import { createHealth, type Health, watchHealth } from "@quicrpc/services";
import { describe, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.mjs";
import { methods } from "../behaviour/service.js";
import { closedAfterEach } from "../open.js";

const open = closedAfterEach();

const { echo } = methods;
const schemes = process.env["QUICRPC_NO_ENGINE"] === undefined ? ["quic", "tls"] : ["tls"];

/** A server that answers with its name. */
async function served(name: string, url: string, health?: Health): Promise<Server> {
  const server = await serve({
    listen: [url],
    tls: await devCertificate(),
    routers: [
      createRouter({ echo }, { echo: () => ({ text: name }) }),
      ...(health === undefined ? [] : [health.router]),
    ],
  });
  open.push(server);
  return server;
}

const urlOf = (server: Server): string => server.urls[0] as string;

describe.each(schemes)("a pool over %s", (scheme) => {
  it("calls go on while a server is gone, and reach it again once it is back", async () => {
    const { hash } = await devCertificate();
    const [a, b, c] = await Promise.all(
      ["a", "b", "c"].map(async (name) => served(name, `${scheme}://127.0.0.1:${await freePort()}`)),
    );
    if (a === undefined || b === undefined || c === undefined) throw new Error("three servers were started");
    const pool = await connectPool([a, b, c].map(urlOf), {
      serverCertificateHashes: [hash],
      balance: "roundRobin",
      sessionsPerTarget: 2,
      backoff: { initialMs: 10, maxMs: 20 },
    });
    open.push(pool);
    const answers = async (calls: number): Promise<string[]> => {
      const all = await Promise.all(Array.from({ length: calls }, () => pool.unary(echo, { text: "" })));
      return [...new Set(all.map(({ text }) => text))].toSorted();
    };
    /** Resolves when as many targets are ready, by the pool's own account. */
    const readyTargets = async (count: number): Promise<void> => {
      while (pool.targets.filter(({ status }) => status === "ready").length !== count) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await readyTargets(3);
    expect(await answers(6)).toEqual(["a", "b", "c"]);

    await b.close({ closeCode: 9 });
    await readyTargets(2);
    expect(pool.state).toEqual({ status: "ready" });
    expect(await answers(6)).toEqual(["a", "c"]);

    await served("b", urlOf(b));
    await readyTargets(3);
    expect(await answers(6)).toEqual(["a", "b", "c"]);
  });

  it("finds its targets by DNS, and asks them for their health", async () => {
    const { hash } = await devCertificate();
    const health = createHealth({ "shop.v1.Orders": "not_serving" });
    const server = await served("a", `${scheme}://127.0.0.1:0`, health);
    const port = new URL(urlOf(server)).port;
    const targets = dnsTargets(`${scheme}://localhost:${port}`, {
      records: "A",
      resolver: { resolve4: async () => ["127.0.0.1"], resolve6: async () => [], resolveSrv: async () => [] },
    });
    const connecting = connectPool(targets, {
      serverCertificateHashes: [hash],
      health: (caller, signal) => watchHealth(caller, "shop.v1.Orders", { signal }),
    });
    health.set("shop.v1.Orders", "serving");
    const pool = await connecting;
    open.push(pool);
    expect(pool.targets.map(({ target, status }) => [target, status])).toEqual([
      [`${scheme}://127.0.0.1:${port}`, "ready"],
    ]);
    expect(await pool.unary(echo, { text: "" })).toEqual({ text: "a" });
    const states = pool.states();
    await states.next();
    health.shutdown();
    expect((await states.next()).value).toMatchObject({ status: "connecting" });
    await states.return?.();
  });
});
