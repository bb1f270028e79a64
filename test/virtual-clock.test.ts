import { createMemoryPair, createSession, type Session } from "@quicrpc/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { behaviourRouter, methods, Witness } from "./behaviour/service.js";
import { failure } from "./behaviour/tools.js";

describe("deadlines by a virtual clock", () => {
  let client: Session;
  let witness: Witness;
  beforeEach(() => {
    vi.useFakeTimers();
    const [here, there] = createMemoryPair();
    witness = new Witness();
    createSession(there, { routers: [behaviourRouter(witness)] });
    client = createSession(here);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("C31 expires at its time, not before, in the caller and in the handler", async () => {
    let error: unknown;
    const call = failure(client.unary(methods.wait, { text: "a" }, { timeoutMs: 1000 })).then((failed) => {
      error = failed;
    });
    await vi.advanceTimersByTimeAsync(999);
    expect(error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await call;
    expect(error).toMatchObject({ code: "deadline_exceeded" });
    expect(witness.events).toContain("aborted a deadline_exceeded");
  });

  it("C35 10,000 calls share one timer on each side, and leave none", async () => {
    const calls = Array.from({ length: 10_000 }, (_, i) =>
      failure(client.unary(methods.wait, { text: String(i) }, { timeoutMs: 1000 + (i % 100) })),
    );
    await vi.advanceTimersByTimeAsync(500);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1000);
    for (const error of await Promise.all(calls)) expect(error.code).toBe("deadline_exceeded");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("C35 calls that are answered leave none", async () => {
    await Promise.all(
      Array.from({ length: 1000 }, (_, i) => client.unary(methods.echo, { text: String(i) }, { timeoutMs: 1000 })),
    );
    expect(vi.getTimerCount()).toBe(0);
  });
});
