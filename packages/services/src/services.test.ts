import { createSession, type Router, type Session } from "@quicrpc/core";
import { pack } from "@quicrpc/core/internal";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod } from "@quicrpc/core/generated";
import { durableRouter, resumableCalls } from "@quicrpc/durable/generated";
import { describe, expect, it } from "vitest";
import { createHealthClient, createReflectionClient, reflectionMethods } from "./index.js";
import { createHealth, watchHealth } from "./health.js";
import { createReflection } from "./reflection.js";

function client(...routers: Router[]): Session {
  const [ours, theirs] = createMemoryPair();
  createSession(theirs, { routers });
  return createSession(ours);
}

describe("health", () => {
  it("is checked by service; an unknown one is not found", async () => {
    const health = createHealth({ "a.v1.A": "not_serving" });
    const asked = createHealthClient(client(health.router));
    expect(await asked.check({ service: "" })).toEqual({ status: "serving" });
    expect(await asked.check({ service: "a.v1.A" })).toEqual({ status: "not_serving" });
    await expect(asked.check({ service: "b.v1.B" })).rejects.toMatchObject({ code: "not_found" });
    health.set("a.v1.A", "serving");
    expect(await asked.check({ service: "a.v1.A" })).toEqual({ status: "serving" });
  });

  it("is watched: the status now, and each change", async () => {
    const health = createHealth();
    const states = createHealthClient(client(health.router)).watch({ service: "a.v1.A" })[Symbol.asyncIterator]();
    expect((await states.next()).value).toEqual({ status: "unknown" });
    const next = states.next();
    health.set("a.v1.A", "serving");
    expect((await next).value).toEqual({ status: "serving" });
    const last = states.next();
    health.set("other", "serving");
    health.shutdown();
    expect((await last).value).toEqual({ status: "not_serving" });
    await states.return?.();
  });

  it("a peer without a health service counts as able", async () => {
    const seen: boolean[] = [];
    for await (const able of watchHealth(client())) seen.push(able);
    expect(seen).toEqual([true]);
  });
});

describe("reflection", () => {
  it("stands beside routers whose handlers know who calls", async () => {
    const hello = { hello: defineMethod({ name: "demo.v1.Hello", id: 10 }, "unary", "hello", { id: 1 }) };
    const router = createRouter<typeof hello, { name: string }>(hello, { hello: () => undefined });
    const routers: Router<{ name: string }>[] = [router, createReflection([router])];
    const [ours, theirs] = createMemoryPair();
    createSession(theirs, { routers, connection: { name: "alice" } });
    const { services } = await createReflectionClient(createSession(ours)).list();
    expect(services.map(({ name }) => name)).toEqual(["demo.v1.Hello", "quicrpc.v1.Reflection"]);
  });

  it("lists services and methods by name, itself too", async () => {
    const shop = { name: "demo.v1.Shop", id: 9 };
    const codec = { encode: () => {}, decode: () => undefined };
    const methods = {
      sell: defineMethod(shop, "unary", "sell", {
        id: 2,
        input: codec,
        output: codec,
        idempotent: true,
        fingerprint: 7,
      }),
      buy: defineMethod(shop, "notify", "buy", { id: 1, meta: { cost: 3, auth: "user" } }),
    };
    const router = createRouter(methods, { sell: () => undefined, buy: () => {} });
    const { services } = await createReflectionClient(client(router, createReflection([router]))).list();
    expect(services).toEqual([
      {
        name: "demo.v1.Shop",
        id: 9,
        methods: [
          {
            name: "buy",
            id: 1,
            kind: "notify",
            idempotent: false,
            takes: "nothing",
            gives: "nothing",
            meta: { cost: 3, auth: "user" },
          },
          { name: "sell", id: 2, kind: "unary", idempotent: true, takes: "value", gives: "value", fingerprint: 7 },
        ],
      },
      expect.objectContaining({ name: "quicrpc.v1.Reflection" }),
    ]);
  });

  it("tells of streams whose calls outlive their sessions, in a form that those who do not know of it read", async () => {
    const codec = { encode: () => {}, decode: () => undefined };
    const stream = defineMethod({ name: "demo.v1.News", id: 8 }, "server_stream", "news", {
      id: 1,
      output: codec,
      extension: resumableCalls,
    });
    const plain = defineMethod({ name: "demo.v1.News", id: 8 }, "server_stream", "olds", { id: 2, output: codec });
    const router = durableRouter(
      createRouter({ stream, plain }, { stream: async function* () {}, plain: async function* () {} }),
    );
    const { services } = await createReflectionClient(client(router, createReflection([router]))).list();
    const [news, olds] = services[0]?.methods ?? [];
    expect([news?.resumable, olds?.resumable]).toEqual([true, undefined]);
    // It is a member that may be left out, and one that is not known is passed over.
    const older = { ...news, resumable: undefined, later: 1 };
    const { output } = reflectionMethods.list;
    const bytes = pack({ services: [{ name: "demo.v1.News", id: 8, methods: [older] }] });
    expect(output?.decode(bytes, 0, bytes.length).services[0]?.methods[0]).toMatchObject({ name: "news", id: 1 });
  });

  it("tells the comments, JSON Schemas and shapes of a service whose code is generated", async () => {
    const health = createHealth();
    const asked = createReflectionClient(client(health.router, createReflection([health.router])));
    const details = await asked.describe({ service: "quicrpc.v1.Health" });
    expect(details).toMatchObject({
      docs: "Reports whether services are able to serve.",
      snapshot: { id: 31271, methods: { check: { id: 1, kind: "unary" } } },
    });
    expect(details.methods.find(({ name }) => name === "check")).toMatchObject({
      docs: expect.stringContaining("not_found"),
      input: { type: "object", properties: { service: { type: "string" } }, required: ["service"] },
      output: { properties: { status: { enum: ["serving", "not_serving", "unknown"] } } },
    });
    expect((await asked.describe({ service: "quicrpc.v1.Reflection" })).methods).toHaveLength(2);
  });

  it("a service that is not served, or has no tooling, is not found", async () => {
    const router = createRouter(
      { buy: defineMethod({ name: "by.hand", id: 9 }, "notify", "buy", { id: 1 }) },
      {
        buy: () => {},
      },
    );
    const asked = createReflectionClient(client(router, createReflection([router])));
    for (const service of ["by.hand", "no.such.Service", "__proto__"]) {
      await expect(asked.describe({ service })).rejects.toMatchObject({ code: "not_found" });
    }
  });
});
