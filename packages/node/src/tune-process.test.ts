import { expect, it } from "vitest";
import { MinorCollections } from "./tune-process.js";

interface Simulated {
  /** Plans a collection at a time, and returns the number of planned collections. */
  readonly planAt: (time: number) => number;
  /** Runs the planned collections, and returns the time at which they have ended. */
  readonly run: () => number;
}

/** Simulates collections that take these numbers of milliseconds, with a virtual clock. */
function simulated(took: readonly number[]): Simulated {
  let now = 0;
  let count = 0;
  const waiting: (() => void)[] = [];
  const collections = new MinorCollections(
    () => (now += took[count++] ?? 0),
    () => now,
    (run) => waiting.push(run),
  );
  return {
    planAt: (time) => {
      now = Math.max(now, time);
      collections.plan();
      return waiting.length;
    },
    run: () => {
      for (const run of waiting.splice(0)) run();
      return now;
    },
  };
}

it("one collection is planned at a time", () => {
  const { planAt, run } = simulated([1, 1]);
  expect(planAt(0)).toBe(1);
  expect(planAt(1)).toBe(1);
  run();
  expect(planAt(2)).toBe(1);
});

it("collections take a tenth of the time at most", () => {
  const { planAt, run } = simulated([2, 2, 4]);
  planAt(0);
  run();
  planAt(10);
  expect(run()).toBe(12);
  expect(planAt(12 + 17)).toBe(0);
  expect(planAt(12 + 18)).toBe(1);
  expect(run()).toBe(34);
  // The shorter of the last two counts.
  expect(planAt(34 + 17)).toBe(0);
  expect(planAt(34 + 18)).toBe(1);
});

it("a single long collection puts off none", () => {
  const { planAt, run } = simulated([1, 40, 1]);
  planAt(0);
  run();
  planAt(100);
  run();
  expect(planAt(149)).toBe(1);
});
