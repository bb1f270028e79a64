// What callers hold whose input cannot be read, while the server asks whether they may call at all.
import { authorize, createSession, interceptRouter, type RpcError } from "@quicrpc/core";
import { sessionStats } from "@quicrpc/core/measure";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { settle } from "./raw-peer.js";

const service = { name: "test.v1.Pending", id: 4713 };
const [number, anything] = [zodCodec(z.number()), zodCodec(z.unknown())];
const served = {
  one: defineMethod(service, "unary", "one", { id: 1, input: number }),
  many: defineMethod(service, "client_stream", "many", { id: 2, input: number }),
};
const called = {
  one: defineMethod(service, "unary", "one", { id: 1, input: anything }),
  many: defineMethod(service, "client_stream", "many", { id: 2, input: anything }),
};

/** Permission checks that have begun; each ends with what its function is given. */
let checks: ((scopes: string[]) => void)[];
let client: ReturnType<typeof createSession>;
let server: ReturnType<typeof createSession>;
beforeEach(() => {
  checks = [];
  const [ours, theirs] = createMemoryPair();
  const scopesOf = (): Promise<string[]> => new Promise((resolve) => checks.push(resolve));
  const guard = authorize({ scopesOf, permissionOf: () => ["write"] });
  const router = createRouter(served, {
    one: () => {},
    many: async (items) => {
      for await (const item of items) void item;
    },
  });
  const limits = { maxCalls: 1, maxWaitingCalls: 1 };
  server = createSession(theirs, { routers: [interceptRouter(router, [guard])], limits });
  client = createSession(ours);
});
afterEach(() => Promise.all([client.close(), server.close()]));

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "none",
    (error: RpcError) => error.code,
  );
const held = async (): Promise<number> => (await sessionStats(server)).heldBytes ?? Number.NaN;
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await settle();
};

it("a call that waits, and has an item that cannot be read, is checked in its turn", async () => {
  const first = codeOf(client.unary(called.one, 1));
  await turns();
  expect(checks).toHaveLength(1);
  for (let round = 0; round < 3; round++) {
    const cancel = new AbortController();
    const cancelled = codeOf(client.clientStream(called.many, ["bad"], { signal: cancel.signal }));
    await turns();
    cancel.abort();
    expect(await cancelled).toBe("cancelled");
    await turns();
  }
  const waiting = codeOf(client.clientStream(called.many, ["bad"]));
  await turns();
  expect(checks).toHaveLength(1);
  checks[0]?.(["write"]);
  expect(await first).toBe("none");
  await turns();
  expect(checks).toHaveLength(2);
  checks[1]?.(["write"]);
  expect(await waiting).toBe("invalid_argument");
  const forbidden = codeOf(client.clientStream(called.many, ["bad"]));
  await turns();
  for (const check of checks) check([]);
  expect(await forbidden).toBe("permission_denied");
});

it("a request that cannot be read is charged for the metadata that it keeps", async () => {
  const metadata = { note: "n".repeat(10_000) };
  const before = await held();
  const call = codeOf(client.unary(called.one, "bad", { metadata }));
  await turns();
  expect((await held()) - before).toBeGreaterThan(10_000);
  checks[0]?.(["write"]);
  expect(await call).toBe("invalid_argument");
  await turns();
  expect(await held()).toBeLessThan(10_000);
});
