import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Expiries } from "./expiries.js";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

describe("Expiries", () => {
  it("calls each at its time, in order, except what was taken back; no timer is left", () => {
    const step = fc.record({ delay: fc.nat(5000), removeAt: fc.option(fc.nat(6000)) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const expiries = new Expiries();
        const start = performance.now();
        const seen: { i: number; at: number }[] = [];
        const all = steps.map(({ delay }, i) =>
          expiries.add(delay, () => seen.push({ i, at: performance.now() - start })),
        );
        const removals = steps.flatMap(({ removeAt }, i) => (removeAt === null ? [] : [{ removeAt, i }]));
        removals.sort((a, b) => a.removeAt - b.removeAt);
        for (const { removeAt, i } of removals) {
          vi.advanceTimersByTime(Math.max(0, start + removeAt - performance.now()));
          const expiry = all[i];
          if (expiry !== undefined) expiries.remove(expiry);
        }
        vi.advanceTimersByTime(6000);
        const expected = steps.flatMap(({ delay, removeAt }, i) =>
          removeAt === null || delay <= removeAt ? [{ i, at: delay }] : [],
        );
        const byId = (a: { i: number }, b: { i: number }): number => a.i - b.i;
        expect([...seen].sort(byId)).toEqual(expected);
        expect(seen.map(({ at }) => at)).toEqual(expected.map(({ at }) => at).sort((a, b) => a - b));
        expect(expiries.size).toBe(0);
        expect(vi.getTimerCount()).toBe(0);
      }),
    );
  });

  it("uses one timer for all, also beyond the largest delay of a timer", () => {
    const expiries = new Expiries();
    const far = 2 ** 31 + 5000;
    const onExpired = vi.fn<() => void>();
    expiries.add(far, onExpired);
    for (let i = 0; i < 1000; i++) expiries.add(60_000 + i, () => {});
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(far - 1);
    expect(onExpired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onExpired).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("what expires may add more and take others back", () => {
    const expiries = new Expiries();
    const seen: string[] = [];
    const second = expiries.add(10, () => seen.push("second"));
    expiries.add(10, () => seen.push("third"));
    expiries.add(5, () => {
      seen.push("first");
      expiries.remove(second);
      expiries.add(0, () => seen.push("added"));
    });
    vi.advanceTimersByTime(20);
    expect(seen).toEqual(["first", "added", "third"]);
  });

  it("goes on when the platform's clock is taken away and given back, as tests do", () => {
    const expiries = new Expiries();
    const seen: string[] = [];
    // The timer functions to restore after this test replaces them.
    const before = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
    const timers = new Map<object, () => void>();
    const own = {
      setTimeout: ((run: () => void) => {
        const timer = {};
        timers.set(timer, run);
        return timer;
      }) as never,
      clearTimeout: ((timer: object) => void timers.delete(timer)) as never,
    };
    const fire = (): void => {
      for (const [timer, run] of Array.from(timers)) {
        timers.delete(timer);
        run();
      }
    };
    expiries.add(100, () => seen.push("first clock"));
    Object.assign(globalThis, own);
    try {
      const late = expiries.add(10, () => seen.push("second clock"));
      expect(timers.size).toBe(1);
      expiries.remove(late);
      fire();
      expiries.add(10, () => seen.push("left behind"));
    } finally {
      Object.assign(globalThis, before);
    }
    // The current timer belongs to the replaced clock, which never fires it.
    expiries.add(10, () => seen.push("first clock again"));
    vi.advanceTimersByTime(50);
    expect(seen).toEqual(["left behind", "first clock again"]);
    vi.advanceTimersByTime(50);
    expect(seen).toEqual(["left behind", "first clock again", "first clock"]);
    expect(expiries.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});
