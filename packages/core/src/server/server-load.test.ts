import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RpcError } from "../errors.js";
import { MemoryBudget } from "../memory-budget.js";
import { requireRoom } from "./admission.js";
import { ServerLoad } from "./server-load.js";

/**
 * Creates the load of a server with 1000 bytes of memory, a function that adds a session with at most 600 bytes, and a
 * list of the closed sessions.
 */
function fixture() {
  const load = new ServerLoad({ maxServerBytes: 1000 });
  const closed: { name: string; error: RpcError }[] = [];
  const session = (name: string) => {
    const budget = new MemoryBudget(600, "limits.maxSessionBytes", load);
    const place = load.add({ budget, onEvicted: (error) => closed.push({ name, error }) });
    return { budget, leave: () => load.remove(place) };
  };
  return { load, closed, session };
}

describe("the memory of a server's sessions", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("a session beyond its own limit is refused, and no other is closed", () => {
    const { load, closed, session } = fixture();
    const { budget } = session("a");
    expect([budget.charge(600), budget.room]).toEqual([true, 0]);
    expect(budget.charge(1)).toBe(false);
    expect(budget.refusal("x").message).toBe(
      "x holds too much memory: limits.maxSessionBytes is 600, and 601 are held",
    );
    budget.release(601);
    expect([load.held, closed.length]).toEqual([0, 0]);
  });

  it("what is held for a moment only needs room, and holds none", () => {
    const { load, session } = fixture();
    const { budget } = session("a");
    budget.charge(400);
    requireRoom(budget, 200, "x");
    expect(() => requireRoom(budget, 201, "x")).toThrow(
      "x holds too much memory: limits.maxSessionBytes is 600, and 400",
    );
    expect([budget.held, load.held]).toEqual([400, 400]);
  });

  it("what is measured is looked at before there is no room", () => {
    const { budget } = fixture().session("a");
    budget.charge(600);
    budget.watch({ measure: () => budget.release(1) });
    requireRoom(budget, 1, "x");
    expect(budget.held).toBe(599);
  });

  it("beyond the server's limit the largest is closed for one that holds less, and one that is the largest is refused", () => {
    const { load, closed, session } = fixture();
    const [a, b, c] = [session("a"), session("b"), session("c")];
    a.budget.charge(500);
    b.budget.charge(450);
    expect(c.budget.charge(100)).toBe(true);
    expect(closed.map(({ name, error }) => [name, error.code])).toEqual([["a", "resource_exhausted"]]);
    expect(closed[0]?.error.message).toBe(
      "the session holds too much memory: limits.maxServerBytes is 1000, and 1050 are held",
    );
    // While the closed session releases its memory, no other session is closed for the same bytes.
    expect(c.budget.charge(100)).toBe(true);
    expect(closed).toHaveLength(1);
    a.budget.release(400);
    a.leave();
    vi.advanceTimersByTime(1000);
    // The sum of 100 bytes that a handler of the ended session still uses, 450 and 200.
    expect(load.held).toBe(750);
    expect(b.budget.charge(150)).toBe(true);
    expect(b.budget.charge(150)).toBe(false);
    expect(closed).toHaveLength(1);
  });

  it("what is measured is measured before anybody is refused or closed", () => {
    const { load, closed, session } = fixture();
    const [a, b] = [session("a"), session("b")];
    const part = {
      measure() {
        a.budget.release(550);
        a.budget.unwatch(part);
      },
    };
    a.budget.charge(550);
    a.budget.watch(part);
    expect(b.budget.charge(590)).toBe(true);
    expect([load.held, closed.length]).toEqual([590, 0]);
  });

  it("what is measured is measured when its session has ended", () => {
    const { load, session } = fixture();
    const { budget, leave } = session("a");
    budget.charge(550);
    budget.watch({ measure: () => budget.release(550) });
    leave();
    expect(load.held).toBe(0);
  });

  it("what the server holds is what its sessions hold, whatever happens", () => {
    const step = fc.record({
      session: fc.nat(5),
      what: fc.constantFrom("charge" as const, "release" as const, "leave" as const),
      bytes: fc.integer({ min: 1, max: 400 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const { load, closed, session } = fixture();
        const sessions = new Map<number, ReturnType<typeof session> & { held: number }>();
        for (let i = 0; i < 6; i++) sessions.set(i, { ...session(String(i)), held: 0 });
        for (const { session: i, what, bytes } of steps) {
          const each = sessions.get(i);
          if (each === undefined) continue;
          if (what === "leave") each.leave();
          if (what === "release") {
            const released = Math.min(bytes, each.held);
            each.budget.release(released);
            each.held -= released;
          }
          if (what === "charge") {
            if (each.budget.charge(bytes)) each.held += bytes;
            else each.budget.release(bytes);
          }
          expect(each.budget.held).toBe(each.held);
          expect(load.held).toBe(Array.from(sessions.values()).reduce((sum, { held }) => sum + held, 0));
        }
        // No session is closed twice.
        expect(new Set(closed.map(({ name }) => name)).size).toBe(closed.length);
        for (const { budget, leave, held } of sessions.values()) {
          budget.release(held);
          leave();
        }
        expect(load.held).toBe(0);
      }),
    );
  });
});
