import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { completeLimits } from "../limits.js";
import { Admission } from "./admission.js";
import { ServerLoad } from "./server-load.js";

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function admission(maxCalls = 100): Admission {
  return new Admission({
    limits: completeLimits({ maxCalls }),
    load: new ServerLoad({}),
    loadShedder: undefined,
    onError: (error) => {
      throw error;
    },
    isRefusing: () => false,
    onIdle() {},
  });
}

/** Runs a handler that takes `ms` milliseconds. Returns true if its time was measured. */
function handle(calls: Admission, ms: number): boolean {
  const isTimed = --calls.untimed <= 0;
  if (isTimed) calls.runTimed(() => vi.advanceTimersByTime(ms));
  return isTimed;
}

describe("the turns of handlers", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("end after 5 ms, and begin anew in the next turn of the event loop", async () => {
    const calls = admission();
    handle(calls, 3);
    expect(calls.mustWait).toBe(false);
    handle(calls, 3);
    expect(calls.mustWait).toBe(true);
    const started: string[] = [];
    for (const name of ["one", "two", "three"]) {
      calls.wait(() => {
        started.push(name);
        handle(calls, 3);
        calls.end();
      });
    }
    expect(calls.calls).toBe(3);
    await nextTurn();
    expect(started).toEqual(["one", "two"]);
    expect(calls.mustWait).toBe(true);
    await nextTurn();
    expect(started).toEqual(["one", "two", "three"]);
    expect(calls.mustWait).toBe(false);
    expect(calls.calls).toBe(0);
  });

  it("are shared by the calls within calls, which start in turn", async () => {
    const calls = admission();
    const inner = [calls.within(9, () => {}), calls.within(9, () => {})];
    const started: string[] = [];
    calls.runTimed(() => vi.advanceTimersByTime(6));
    for (const [index, admitted] of inner.entries()) {
      expect(admitted.mustWait).toBe(true);
      for (const name of ["a", "b"])
        admitted.whenFree(() => {
          started.push(`${name}${index}`);
          vi.advanceTimersByTime(6);
        });
    }
    const turns: string[][] = [];
    for (let turn = 0; turn < 4; turn++) {
      await nextTurn();
      turns.push(started.splice(0));
    }
    expect(turns).toEqual([["a0"], ["a1"], ["b0"], ["b1"]]);
  });

  it("end after 1,000 asynchronous calls, which are busy after their handlers have returned", async () => {
    const calls = admission(10_000);
    let count = 0;
    for (; !calls.mustWait; count++) {
      calls.begin();
      handle(calls, 0);
    }
    expect(count).toBeGreaterThanOrEqual(1000);
    expect(count).toBeLessThan(1100);
    await nextTurn();
    expect(calls.mustWait).toBe(false);
  });

  it("time quick handlers less and less often, and slow ones each", () => {
    const calls = admission();
    const timed = Array.from({ length: 100 }, () => handle(calls, 0)).flatMap((is, i) => (is ? [i] : []));
    expect(timed).toEqual([0, 2, 6, 14, 30, 62, 94]);
    while (!handle(calls, 2));
    expect(handle(calls, 2)).toBe(true);
  });

  it("do not keep more than 4,096 calls waiting", () => {
    const calls = admission(10_000);
    handle(calls, 5);
    const started: number[] = [];
    for (let i = 0; i < 4098; i++) calls.wait(() => started.push(i));
    expect(started).toEqual([0, 1]);
    expect(calls.calls).toBe(4098);
  });

  it("leave a place that is free to no call that came later", async () => {
    const calls = admission(2);
    handle(calls, 5);
    const started: string[] = [];
    for (const name of ["one", "two", "three"]) calls.wait(() => started.push(name));
    expect(() => calls.requireRoom()).toThrow("2 calls are in progress (limits.maxCalls)");
    await nextTurn();
    expect(started).toEqual(["one", "two"]);
    calls.end();
    expect(started).toEqual(["one", "two", "three"]);
  });
});
