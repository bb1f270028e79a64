import { createSession, type Limits, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { behaviourRouter, methods, Witness } from "../../../test/behaviour/service.js";
import { failure } from "../../../test/behaviour/tools.js";
import { RawPeer } from "./raw-peer.js";

describe("deadlines by a virtual clock", () => {
  let client: Session;
  let witness: Witness;
  beforeEach(() => {
    vi.useFakeTimers();
    const [here, there] = createMemoryPair();
    witness = new Witness();
    createSession(there, { routers: [behaviourRouter(witness)], limits: { maxCalls: 10_000 } });
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

describe("limits of time by a virtual clock", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A session that calls, and one that serves `methods`, each with its limits. */
  function pairOf(ours: Partial<Limits>, theirs: Partial<Limits>): { client: Session; server: Session; seen: Witness } {
    const [here, there] = createMemoryPair();
    const seen = new Witness();
    const server = createSession(there, { routers: [behaviourRouter(seen)], limits: theirs });
    return { client: createSession(here, { limits: ours }), server, seen };
  }

  it("C36 a timeout beyond maxTimeoutMs is lowered to it, by either side", async () => {
    const low = { maxTimeoutMs: 1000 };
    for (const [ours, theirs] of [
      [low, {}],
      [{}, low],
    ] as const) {
      const { client, seen } = pairOf(ours, theirs);
      const call = failure(client.unary(methods.wait, { text: "a" }, { timeoutMs: 60_000 }));
      await vi.advanceTimersByTimeAsync(999);
      expect(seen.events).toEqual(["wait a"]);
      await vi.advanceTimersByTimeAsync(1);
      expect((await call).code).toBe("deadline_exceeded");
      expect(seen.events).toEqual(["wait a", "aborted a deadline_exceeded"]);
    }
  });

  it("C64 a drain that says nothing else takes maxDrainMs at most", async () => {
    const { client, server, seen } = pairOf({}, { maxDrainMs: 500 });
    const call = failure(client.unary(methods.wait, { text: "a" }));
    await seen.until("wait a");
    let end: unknown;
    const drained = server.drain().then((given) => (end = given));
    await vi.advanceTimersByTimeAsync(499);
    expect(end).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await drained;
    expect(end).toMatchObject({ reason: "the drain took too long" });
    expect((await call).code).toBe("unavailable");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a clean close waits maxAcknowledgeMs at most for a peer that does not take what was sent", async () => {
    const [here, there] = createMemoryPair();
    const peer = new RawPeer(there);
    const session = createSession(here, { limits: { maxAcknowledgeMs: 300 } });
    await session.notify(methods.note, { text: "sent" });
    await peer.first();
    const closed = session.close();
    await vi.advanceTimersByTimeAsync(299);
    expect(peer.closed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await closed).toMatchObject({ closeCode: 0, error: undefined, unacknowledged: 1 });
    expect(peer.closed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});
