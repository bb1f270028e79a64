import { createSession, type Interceptor, interceptRouter, RpcError, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { expect, it } from "vitest";
import { z } from "zod";
import { createTimingsClient } from "./generated/timings.js";
import { createTimings } from "./timings.js";

const service = { name: "demo.v1.Slow", id: 4712 };
const number = zodCodec(z.number());
const methods = {
  half: defineMethod(service, "unary", "half", { id: 1, input: number, output: number }),
  fail: defineMethod(service, "unary", "fail", { id: 2 }),
};

function world(keep?: number): Session {
  const [ours, theirs] = createMemoryPair();
  const timings = createTimings(keep === undefined ? {} : { keep });
  const router = createRouter(methods, {
    half: async (n) => n / 2,
    fail: () => {
      throw new RpcError("aborted", "not today");
    },
  });
  const seen = interceptRouter(router, [(call, next) => next({ ...call, input: (call.input as number) + 2 })]);
  createSession(theirs, { routers: [timings.measure(seen), timings.router] });
  return createSession(ours);
}

it("tells a caller where the time of its call went, by the name that it gave it", async () => {
  const session = world();
  expect(await session.unary(methods.half, 6, { metadata: { "call-name": "a" } })).toBe(4);
  await expect(session.unary(methods.fail, undefined, { metadata: { "call-name": "b" } })).rejects.toMatchObject({
    code: "aborted",
  });
  await session.unary(methods.half, 1);
  const asked = createTimingsClient(session);
  const { decodeMs, queueMs, handlerMs } = await asked.of({ name: "a" });
  for (const ms of [decodeMs, queueMs, handlerMs]) expect(ms).toBeGreaterThanOrEqual(0);
  expect((await asked.of({ name: "b" })).handlerMs).toBeGreaterThanOrEqual(0);
  await expect(asked.of({ name: "c" })).rejects.toMatchObject({ code: "not_found" });
});

it("remembers no more calls than it is to, and no name that is long", async () => {
  const session = world(2);
  for (const name of ["a", "b", "c", "d".repeat(65)])
    await session.unary(methods.half, 1, { metadata: { "call-name": name } });
  const asked = createTimingsClient(session);
  for (const name of ["a", "d".repeat(65)])
    await expect(asked.of({ name })).rejects.toMatchObject({ code: "not_found" });
  for (const name of ["b", "c"]) expect(await asked.of({ name })).toHaveProperty("handlerMs");
});

it("refuses what does not fit as ever", async () => {
  await expect(world().unary(methods.half, "many" as never)).rejects.toMatchObject({ code: "invalid_argument" });
});

it("keeps the permission check of the routers that it measures", () => {
  const refuse: Interceptor = () => Promise.reject(new RpcError("permission_denied", "no"));
  const router = interceptRouter(createRouter(methods, { half: (n) => n / 2, fail: () => {} }), [refuse]);
  const [bound] = createTimings().measure(router).methods;
  expect(bound?.authorize).toBe(router.methods[0]?.authorize);
});
