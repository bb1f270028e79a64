// What every store of calls that take effect once does; each store's package runs it.
import type { OnceClaim, OnceStore } from "@quicrpc/durable";
import { describe, expect, it } from "vitest";

/** A store, and a way to let time pass for it. */
export interface StoreUnderTest {
  readonly store: OnceStore;
  /** Lets so many milliseconds pass by the store's clock. */
  readonly pass: (ms: number) => Promise<void>;
}

const KEEP_MS = 4000;
const LEASE_MS = 1000;
let ids = 0;

function claimOf(owner: string, more: Partial<OnceClaim> = {}): OnceClaim {
  const times = { madeAt: Date.now(), leaseMs: LEASE_MS, keepMs: KEEP_MS };
  return { principal: "ann", first: true, startable: true, fingerprint: "f:1", owner, ...times, ...more };
}

/** @param make a store that may have entries of earlier tests */
export function onceStoreContract(name: string, make: () => Promise<StoreUnderTest>): void {
  describe(`the contract of ${name}`, () => {
    const record = Uint8Array.of(0, 255, 10, 13, 128);
    const newId = (): string => `id-${process.pid}-${Date.now()}-${ids++}/é\n`;

    it("gives one of many claims at once", async () => {
      const { store } = await make();
      const id = newId();
      const states = await Promise.all(Array.from({ length: 50 }, (_, i) => store.claim(id, claimOf(`o${i}`))));
      expect(states.filter(({ state }) => state === "claimed")).toHaveLength(1);
      expect(states.filter(({ state }) => state === "running")).toHaveLength(49);
      expect(states.find(({ state }) => state === "running")).toEqual({ state: "running", fingerprint: "f:1" });
    });

    it("keeps the record, byte by byte, and the fingerprint", async () => {
      const { store, pass } = await make();
      const id = newId();
      await store.claim(id, claimOf("a"));
      expect(await store.settle(id, "a", record)).toBe(true);
      await pass(LEASE_MS + 100);
      const done = { state: "done", fingerprint: "f:1", record };
      expect(await store.find(id)).toEqual(done);
      expect(await store.claim(id, claimOf("b", { fingerprint: "f:2" }))).toEqual(done);
      expect(await store.settle(id, "a", Uint8Array.of(1))).toBe(false);
      expect(await store.renew(id, "a", LEASE_MS)).toBe(false);
      await store.release(id, "a");
      expect(await store.find(id)).toEqual(done);
    });

    it("has claims without a fingerprint", async () => {
      const { store } = await make();
      const id = newId();
      await store.claim(id, claimOf("a", { fingerprint: undefined }));
      expect(await store.find(id)).toEqual({ state: "running", fingerprint: undefined });
    });

    it("takes an owner for lost when its lease lapses, and never gives the call to another", async () => {
      const { store, pass } = await make();
      const id = newId();
      await store.claim(id, claimOf("a"));
      await pass(LEASE_MS - 300);
      expect(await store.renew(id, "a", LEASE_MS)).toBe(true);
      await pass(LEASE_MS - 300);
      expect(await store.find(id)).toMatchObject({ state: "running" });
      await pass(600);
      expect(await store.find(id)).toEqual({ state: "lost", fingerprint: "f:1" });
      expect(await store.claim(id, claimOf("b"))).toMatchObject({ state: "lost" });
    });

    it("takes the end of an owner that was taken for lost", async () => {
      const { store, pass } = await make();
      const id = newId();
      await store.claim(id, claimOf("a"));
      await pass(LEASE_MS + 100);
      expect(await store.claim(id, claimOf("b"))).toMatchObject({ state: "lost" });
      expect(await store.settle(id, "a", record)).toBe(true);
      expect(await store.find(id)).toMatchObject({ state: "done" });
    });

    it("believes only the owner", async () => {
      const { store } = await make();
      const id = newId();
      await store.claim(id, claimOf("a"));
      expect(await store.renew(id, "b", LEASE_MS)).toBe(false);
      expect(await store.settle(id, "b", record)).toBe(false);
      await store.release(id, "b");
      expect(await store.find(id)).toMatchObject({ state: "running" });
      expect(await store.settle(newId(), "a", record)).toBe(false);
    });

    it("forgets what was released, and what did not begin", async () => {
      const { store } = await make();
      const id = newId();
      expect(await store.claim(id, claimOf("a", { startable: false }))).toEqual({ state: "absent" });
      expect(await store.find(id)).toEqual({ state: "absent" });
      await store.claim(id, claimOf("a"));
      await store.release(id, "a");
      expect(await store.claim(id, claimOf("b"))).toEqual({ state: "claimed" });
    });

    it("keeps a lost call as long as a done one, and both no longer than asked", async () => {
      const { store, pass } = await make();
      const [lost, done] = [newId(), newId()];
      await store.claim(lost, claimOf("a"));
      await store.claim(done, claimOf("a"));
      await store.settle(done, "a", record);
      await pass(KEEP_MS - 500);
      expect(await store.find(lost)).toMatchObject({ state: "lost" });
      expect(await store.find(done)).toMatchObject({ state: "done" });
      await pass(1000);
      expect(await store.claim(lost, claimOf("b"))).toEqual({ state: "claimed" });
      expect(await store.claim(done, claimOf("b"))).toEqual({ state: "claimed" });
    });
  });
}
