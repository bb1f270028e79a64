import { MemoryOnceStore, type OnceClaim } from "@quicrpc/durable";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { onceStoreContract } from "./once-store-contract.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

onceStoreContract("the store in memory", async () => ({
  store: new MemoryOnceStore(),
  pass: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)),
}));

describe("a store in memory", () => {
  const claimOf = (principal: string, more: Partial<OnceClaim> = {}): OnceClaim => ({
    principal,
    madeAt: Date.now(),
    first: true,
    startable: true,
    fingerprint: undefined,
    owner: "o",
    leaseMs: 1000,
    keepMs: 60_000,
    ...more,
  });
  const done = async (store: MemoryOnceStore, principal: string, id: string): Promise<void> => {
    await vi.advanceTimersByTimeAsync(1);
    await store.claim(id, claimOf(principal));
    await store.settle(id, "o", new Uint8Array(100));
  };

  it("does not know what a process before it ran: repetitions are forgotten, first calls run", async () => {
    const madeAt = Date.now() - 5;
    const store = new MemoryOnceStore();
    expect(await store.claim("a", claimOf("ann", { madeAt, first: false }))).toEqual({ state: "forgotten" });
    expect(await store.claim("a", claimOf("ann", { madeAt }))).toEqual({ state: "claimed" });
  });

  it("is bounded for each principal: the oldest go, and what had their keys is forgotten, not run again", async () => {
    const store = new MemoryOnceStore({ maxEntriesPerPrincipal: 10 });
    const madeAt = Date.now() + 1;
    for (let i = 0; i < 50; i++) await done(store, "ann", `ann-${i}`);
    await done(store, "bob", "bob-0");
    expect(store.size).toBe(11);
    expect(await store.find("ann-49")).toMatchObject({ state: "done" });
    expect(await store.find("ann-0")).toEqual({ state: "absent" });
    expect(await store.claim("ann-0", claimOf("ann", { madeAt, first: false }))).toEqual({ state: "forgotten" });
    expect(await store.claim("bob-9", claimOf("bob", { madeAt, first: false }))).toEqual({ state: "claimed" });
  });

  it("is bounded in bytes", async () => {
    const store = new MemoryOnceStore({ maxBytesPerPrincipal: 10_000, maxBytes: 20_000 });
    for (let i = 0; i < 100; i++) await done(store, `p${i % 5}`, `id-${i}`);
    expect(store.size).toBeGreaterThan(20);
    expect(store.size).toBeLessThan(50);
  });

  it("is bounded in all: who has most makes room, and nobody is forgotten with his last call", async () => {
    const store = new MemoryOnceStore({ maxEntries: 32 });
    for (let i = 0; i < 30; i++) await done(store, "greedy", `g-${i}`);
    for (let i = 0; i < 10; i++) await done(store, `p${i}`, `p-${i}`);
    expect(store.size).toBeLessThanOrEqual(32);
    for (let i = 0; i < 10; i++) expect(await store.find(`p-${i}`)).toMatchObject({ state: "done" });
  });

  it("never makes room by what runs", async () => {
    const store = new MemoryOnceStore({ maxEntriesPerPrincipal: 3 });
    for (let i = 0; i < 3; i++) await store.claim(`r-${i}`, claimOf("ann"));
    const refused = store.claim("r-3", claimOf("ann"));
    await expect(refused).rejects.toMatchObject({ code: "resource_exhausted", refused: true });
    await vi.advanceTimersByTimeAsync(2000);
    expect(await store.claim("r-3", claimOf("ann"))).toEqual({ state: "claimed" });
  });

  it("does not look at all that runs each time that it has no room", async () => {
    const store = new MemoryOnceStore({ maxEntriesPerPrincipal: 4000 });
    for (let i = 0; i < 4000; i++) await store.claim(`r-${i}`, claimOf("ann", { leaseMs: 60_000 }));
    const get = vi.spyOn(Map.prototype, "get");
    for (let i = 0; i < 100; i++) await store.claim(`n-${i}`, claimOf("ann")).catch(() => {});
    expect(get.mock.calls.length).toBeLessThan(10_000);
    get.mockRestore();
  });

  it("makes room by what has ended, also where somebody else's calls are more and all run", async () => {
    const store = new MemoryOnceStore({ maxEntries: 30, maxEntriesPerPrincipal: 20 });
    for (let i = 0; i < 20; i++) await store.claim(`m-${i}`, claimOf("mallory", { leaseMs: 60_000 }));
    for (let i = 0; i < 10; i++) await done(store, `p-${i}`, `p-${i}`);
    await done(store, "ann", "ann");
    expect(await store.find("ann")).toMatchObject({ state: "done" });
    expect(await store.find("m-0")).toMatchObject({ state: "running" });
  });

  it("lets go of what is over, bit by bit, without anybody asking for it", async () => {
    const store = new MemoryOnceStore();
    for (let i = 0; i < 100; i++) await done(store, "ann", `a-${i}`);
    await vi.advanceTimersByTimeAsync(61_000);
    for (let i = 0; i < 120; i++) await done(store, "bob", `b-${i}`);
    expect(store.size).toBeLessThanOrEqual(121);
  });
});
