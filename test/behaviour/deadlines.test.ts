import { expect, it } from "vitest";
import { describeCalls } from "./describe-calls.js";
import { methods } from "./service.js";
import { failure, range, timers } from "./tools.js";

describeCalls("deadlines", (on) => {
  const { options, echo, wait, items, alive } = on;

  it("C31 unary expiry: deadline_exceeded on both ends", async () => {
    expect(await failure(wait("late", { timeoutMs: 20 }))).toMatchObject({ code: "deadline_exceeded" });
    await on.witness.until("aborted late deadline_exceeded");
    await alive();
  });

  it("C32 server stream expiry, the items before it delivered", async () => {
    const stream = items(2, { open: true }, { timeoutMs: 100 });
    const seen: unknown[] = [];
    const error = await failure(
      (async () => {
        for await (const item of stream) seen.push(item);
      })(),
    );
    expect(error).toMatchObject({ code: "deadline_exceeded" });
    expect(seen).toEqual(range(2));
    await on.witness.until("left 2");
  });

  it("C33 the handler sees the remaining time", async () => {
    const remaining = await on.client.unary(methods.remaining, undefined, options({ timeoutMs: 60_000 }));
    expect(remaining).toBeGreaterThan(30_000);
    expect(remaining).toBeLessThanOrEqual(60_000);
    expect(await on.client.unary(methods.remaining, undefined, options())).toBeNull();
  });

  it("C35 10,000 simultaneous expiries leave no timers", async () => {
    const before = timers();
    const calls = Array.from({ length: 10_000 }, (_, i) => failure(wait(String(i), { timeoutMs: 300 })));
    for (const error of await Promise.all(calls)) expect(error.code).toBe("deadline_exceeded");
    await alive();
    // Those of the handlers go when the cancels arrive.
    while (timers() > before) await new Promise(setImmediate);
  });

  it("C36 zero, negative, NaN, infinite and over-maximum timeouts", async () => {
    expect(await failure(echo("", { timeoutMs: 0 }))).toMatchObject({ code: "deadline_exceeded" });
    expect(await failure(echo("", { timeoutMs: -5 }))).toMatchObject({ code: "deadline_exceeded" });
    expect(await failure(echo("", { timeoutMs: Number.NaN }))).toMatchObject({ code: "invalid_argument" });
    expect(await echo("a", { timeoutMs: Number.POSITIVE_INFINITY })).toEqual({ text: "a" });
    expect(await echo("b", { timeoutMs: 1e12 })).toEqual({ text: "b" });
  });
});
