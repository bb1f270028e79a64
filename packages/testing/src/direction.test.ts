import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { completeConditions, type Conditions } from "./conditions.js";
import { LinkDirection } from "./direction.js";
import { randomNumbers } from "./random.js";

const UNLIMITED = Number.POSITIVE_INFINITY;

/** Returns the times at which 1000 packets arrive. One packet is sent every millisecond. */
function arrivals(partial: Partial<Conditions>, seed = 1, rate = UNLIMITED): (readonly number[])[] {
  const direction = new LinkDirection(randomNumbers(seed));
  const conditions = completeConditions(partial);
  return Array.from({ length: 1000 }, (_, now) => direction.pass(1000, now, conditions, rate).arrivalTimes);
}

describe("a direction of a link", () => {
  it("passes packets on at once where all is fair", () => {
    expect(arrivals({})).toEqual(Array.from({ length: 1000 }, (_, now) => [now]));
  });

  it("delays them", () => {
    expect(arrivals({ delayMs: 40 })[7]).toEqual([47]);
  });

  it("loses about the share that it is to lose, the same for the same seed, others for another", () => {
    const lost = (seed: number): number[] =>
      arrivals({ loss: 0.1 }, seed).flatMap((at, i) => (at.length === 0 ? [i] : []));
    expect(lost(1).length).toBeGreaterThan(70);
    expect(lost(1).length).toBeLessThan(130);
    expect(lost(1)).toEqual(lost(1));
    expect(lost(2)).not.toEqual(lost(1));
  });

  it("loses the same packets under other conditions", () => {
    const lost = (more: Partial<Conditions>): boolean[] =>
      arrivals({ loss: 0.1, ...more }).map((at) => at.length === 0);
    expect(lost({ jitterMs: 5, duplicate: 0.3, reorder: 0.2, corrupt: 0.1 })).toEqual(lost({}));
  });

  it("passes on no more than its rate, and holds no more than its queue", () => {
    // 1000 bytes arrive per millisecond, of which it forwards half.
    const taken = arrivals({ queueBytes: 10_000 }, 1, 500_000).flat();
    expect(taken.length).toBeGreaterThan(500);
    expect(taken.length).toBeLessThan(515);
    const waits = arrivals({ queueBytes: 10_000 }, 1, 500_000).flatMap(([at], sent) =>
      at === undefined ? [] : [at - sent],
    );
    expect(Math.max(...waits)).toBeLessThanOrEqual(20);
  });

  it("keeps packets in order with jitter, and not those that it reorders", () => {
    const order = (partial: Partial<Conditions>): boolean =>
      arrivals(partial)
        .flat()
        .every((at, i, all) => i === 0 || at >= (all[i - 1] ?? 0));
    expect(order({ jitterMs: 20 })).toBe(true);
    expect(order({ reorder: 0.2 })).toBe(false);
  });

  it("passes nothing in a blackout", () => {
    expect(arrivals({ blackout: true }).flat()).toEqual([]);
    expect(arrivals({ udpBlocked: true }).flat()).toEqual([]);
  });

  it("brings all bytes of a stream, in order, a round trip later for each loss", () => {
    fc.assert(
      fc.property(fc.nat(), fc.double({ min: 0, max: 0.9, noNaN: true }), fc.nat(100), (seed, loss, delayMs) => {
        const direction = new LinkDirection(randomNumbers(seed));
        const conditions = completeConditions({ loss, delayMs });
        let last = 0;
        for (let now = 0; now < 50; now++) {
          const { at } = direction.passStream(3000, 3, now, conditions, UNLIMITED);
          expect(at).toBeGreaterThanOrEqual(Math.max(last, now + delayMs));
          last = at;
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe("conditions", () => {
  it("refuses what is none", () => {
    expect(() => completeConditions({ loss: 2 })).toThrow("loss of a network must be from 0 to 1, not 2");
    expect(() => completeConditions({ delayMs: Number.NaN })).toThrow("delayMs");
    expect(() => completeConditions({ upBytesPerSecond: 0 })).toThrow("upBytesPerSecond");
    expect(() => completeConditions({ lose: 0.1 } as object)).toThrow(
      "unknown network condition lose; the conditions are delayMs",
    );
  });
});
