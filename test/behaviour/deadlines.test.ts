import type { CallContext, CallOptions, Session } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeCalls, MANY_CALLS } from "./describe-calls.js";
import { kinds, type Pair } from "./kinds.js";
import { behaviourRouter, methods, Witness } from "./service.js";
import { collect, endless, failure, range, timers } from "./tools.js";
import { renamedMethods, renamedRouter } from "./renamed-service.js";

describeCalls("deadlines", (on) => {
  const { options, echo, wait, items, alive } = on;

  it("C31 unary expiry: deadline_exceeded on both ends", async () => {
    expect(await failure(wait("late", { timeoutMs: 300 }))).toMatchObject({ code: "deadline_exceeded" });
    await on.witness.until("aborted late deadline_exceeded");
    await alive();
  });

  it("C32 server stream expiry, the items before it delivered", async () => {
    let seen: unknown[] = [];
    // A busy machine may take longer than the first deadline for the items.
    for (let timeoutMs = 300; seen.length < 2; timeoutMs *= 3) {
      seen = [];
      const stream = items(2, { open: true }, { timeoutMs });
      const error = await failure(
        (async () => {
          for await (const item of stream) seen.push(item);
        })(),
      );
      expect(error).toMatchObject({ code: "deadline_exceeded" });
    }
    expect(seen).toEqual(range(2));
    await on.witness.until("left 2");
  });

  it("C32 client stream and duplex expiry, on both ends", async () => {
    const source = endless(1);
    const sum = on.client.clientStream(methods.sum, source, options({ timeoutMs: 300 }));
    expect(await failure(sum)).toMatchObject({ code: "deadline_exceeded" });
    await source.left;
    await on.witness.until("sum deadline_exceeded");

    const { readable, writable } = on.client.duplex(methods.stall, options({ timeoutMs: 300 }));
    const writer = writable.getWriter();
    expect(await failure(collect(readable))).toMatchObject({ code: "deadline_exceeded" });
    expect(await failure(writer.closed)).toMatchObject({ code: "deadline_exceeded" });
    await on.witness.until("stall deadline_exceeded");
    await alive();
  });

  it("C33 a deadline is a point in time, and the earlier of two counts", async () => {
    const remaining = (call: CallOptions) => on.client.unary(methods.remaining, undefined, options(call));
    const inAMinute = Date.now() + 60_000;
    for (const call of [
      { deadline: new Date(inAMinute) },
      { deadline: inAMinute, timeoutMs: 1e9 },
      { timeoutMs: 60_000, deadline: inAMinute * 2 },
    ]) {
      const left = await remaining(call);
      expect(left).toBeGreaterThan(30_000);
      expect(left).toBeLessThanOrEqual(60_000);
    }
    expect(await failure(remaining({ deadline: Date.now() - 1 }))).toMatchObject({ code: "deadline_exceeded" });
    expect(await failure(remaining({ deadline: new Date("no date") }))).toMatchObject({ code: "invalid_argument" });
  });

  it("C33 the handler sees the remaining time", async () => {
    const remaining = await on.client.unary(methods.remaining, undefined, options({ timeoutMs: 60_000 }));
    expect(remaining).toBeGreaterThan(30_000);
    expect(remaining).toBeLessThanOrEqual(60_000);
    expect(await on.client.unary(methods.remaining, undefined, options())).toBeNull();
  });

  it("C36 zero, negative, NaN, infinite and over-maximum timeouts", async () => {
    expect(await failure(echo("", { timeoutMs: 0 }))).toMatchObject({ code: "deadline_exceeded" });
    expect(await failure(echo("", { timeoutMs: -5 }))).toMatchObject({ code: "deadline_exceeded" });
    expect(await failure(echo("", { timeoutMs: Number.NaN }))).toMatchObject({ code: "invalid_argument" });
    expect(await echo("a", { timeoutMs: Number.POSITIVE_INFINITY })).toEqual({ text: "a" });
    expect(await echo("b", { timeoutMs: 1e12 })).toEqual({ text: "b" });
  });
});

describeCalls(
  "many deadlines",
  ({ wait, alive, scaled }) => {
    it("C35 many simultaneous expiries leave no timers", { timeout: 60_000 }, async () => {
      const before = timers();
      const calls = Array.from({ length: scaled(10_000) }, (_, i) => failure(wait(String(i), { timeoutMs: 300 })));
      for (const error of await Promise.all(calls)) expect(error.code).toBe("deadline_exceeded");
      await alive();
      // Those of the handlers go when the cancels arrive.
      while (timers() > before) await new Promise(setImmediate);
    });
  },
  MANY_CALLS,
);

const renamed = renamedMethods(methods);
const through = defineMethod({ name: "test.v1.Through", id: 4664 }, "unary", "through", {
  id: 1,
  input: uncheckedCodec<{ what: "wait" | "remaining"; timeoutMs?: number }>(),
  output: uncheckedCodec<unknown>(),
});

describe.each(kinds)("nested deadlines: $name", (kind) => {
  let pair: Pair;
  let inner: Witness;
  beforeEach(async () => {
    inner = new Witness();
    const callOn = ({ what, timeoutMs }: { what: string; timeoutMs?: number }, context: CallContext): unknown => {
      const own = { parent: context, timeoutMs };
      return what === "wait"
        ? context.session.unary(renamed.wait, { text: "inner" }, own)
        : context.session.unary(renamed.remaining, undefined, own);
    };
    pair = await kind.connect(
      {},
      {
        server: { routers: [createRouter({ through }, { through: callOn })] },
        client: { routers: [renamedRouter(behaviourRouter(inner))] },
      },
    );
  });
  afterEach(() => pair.close());

  const call = (client: Session, what: "wait" | "remaining", options: CallOptions, timeoutMs?: number) =>
    client.unary(through, { what, ...(timeoutMs !== undefined && { timeoutMs }) }, options);

  it("C34 a nested call inherits the reduced deadline, and may have less", async () => {
    const inherited = await call(pair.client, "remaining", { timeoutMs: 60_000 });
    expect(inherited).toBeGreaterThan(30_000);
    expect(inherited).toBeLessThanOrEqual(60_000);
    const own = await call(pair.client, "remaining", { timeoutMs: 60_000 }, 20_000);
    expect(own).toBeLessThanOrEqual(20_000);
    expect(await call(pair.client, "remaining", {})).toBeNull();
  });

  it("C34 a nested call ends with the call it was made for: by its deadline, or cancelled", async () => {
    expect(await failure(call(pair.client, "wait", { timeoutMs: 300 }))).toMatchObject({ code: "deadline_exceeded" });
    await inner.until("aborted inner deadline_exceeded");
    const abort = new AbortController();
    const cancelled = call(pair.client, "wait", { signal: abort.signal });
    while (inner.events.filter((event) => event === "wait inner").length < 2) await new Promise(setImmediate);
    abort.abort();
    expect(await failure(cancelled)).toMatchObject({ code: "cancelled" });
    await inner.until("aborted inner cancelled");
  });
});
