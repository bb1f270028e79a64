// Every example answers the same client.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isRpcErrorOf } from "@quicrpc/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectTo } from "./client.js";
import { app as express } from "./express.js";
import { app as fastify } from "./fastify.js";
import { greeterMethods } from "./generated/greeter.js";
import { app as hono } from "./hono.js";
import worker from "./worker.js";

let server: Server;
const origin = (one: Server): string => `http://127.0.0.1:${(one.address() as AddressInfo).port}`;

beforeAll(async () => {
  server = createServer(express).listen(0, "127.0.0.1");
  await Promise.all([once(server, "listening"), fastify.listen({ host: "127.0.0.1", port: 0 })]);
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await fastify.close();
});

/** How each is reached: over the network, or by the function that its runtime would call. */
const reach: Record<string, () => { origin: string; fetch?: typeof globalThis.fetch }> = {
  Express: () => ({ origin: origin(server) }),
  Fastify: () => ({ origin: origin(fastify.server) }),
  Hono: () => ({ origin: "http://hono.example", fetch: async (url, init) => hono.fetch(new Request(url, init)) }),
  "a worker": () => ({
    origin: "http://worker.example",
    fetch: async (url, init) => worker.fetch(new Request(url, init)),
  }),
};

describe.each(Object.entries(reach))("%s", (_name, how) => {
  test("answers calls, streams and errors", async () => {
    const { origin, fetch } = how();
    const greeter = connectTo(origin, fetch);
    expect(await greeter.greet({ name: "Ada" })).toEqual({ text: "Hello, Ada!" });
    const counted: number[] = [];
    for await (const n of greeter.count({ from: 3 })) counted.push(n);
    expect(counted).toEqual([3, 2, 1]);
    const error: unknown = await greeter.greet({ name: "owl" }).catch((thrown: unknown) => thrown);
    expect(isRpcErrorOf(greeterMethods.greet, error) && error.details).toEqual({ until: new Date(0) });
    await expect(greeter.greet({ name: "" })).rejects.toMatchObject({ code: "invalid_argument" });
  });
});
