import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AnyMethod, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import type { TargetSpec } from "./discovery.js";
import { hash, Subset } from "./rendezvous.js";

const text = uncheckedCodec<string>();
const method = defineMethod({ name: "test.v1.Keys", id: 79 }, "unary", "of", { id: 1, input: text, output: text });

interface Weighted {
  readonly target: string;
  readonly weight: number;
  readonly calls: number;
}

const named = (name: string, weight = 1): Weighted => ({ target: `quic://${name}:4433`, weight, calls: 0 });
const spec = ({ target, weight }: Weighted): Required<TargetSpec> => ({ target, weight, priority: 0 });
const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 2, maxLength: 40 });

/** Returns the selected target of each key. */
function placed(targets: readonly Weighted[], keys: readonly string[]): string[] {
  const balance = hash(({ input }) => input as string);
  return keys.map((key) => balance(targets, method as AnyMethod, key, undefined).target);
}

/** Returns the targets that a client dials first. */
function chosen(client: string, size: number, targets: readonly Weighted[]): Set<string> {
  const places = new Subset({ client, size }).ranks(targets.map(spec));
  return new Set([...places].flatMap(([target, place]) => (place === 0 ? [target] : [])));
}

function counts(values: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const value of values) found.set(value, (found.get(value) ?? 0) + 1);
  return found;
}

describe("hash", () => {
  const keys = Array.from({ length: 200 }, (_, i) => `room ${i}`);

  it("a target that goes costs its own keys their place and no others; the order of the list is of no account", () => {
    fc.assert(
      fc.property(names, fc.nat(), fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (all, nth, weights) => {
        const targets = all.map((name) => named(name, weights.next().value));
        const gone = targets[nth % targets.length]?.target;
        const before = placed(targets, keys);
        const after = placed(targets.filter(({ target }) => target !== gone).toReversed(), keys);
        before.forEach((target, i) => {
          if (target !== gone) expect(after[i]).toBe(target);
        });
      }),
      { numRuns: 50 },
    );
  });

  it.each([1, 3])("keys are spread evenly, by weight: %i to 1", (weight) => {
    const targets = Array.from({ length: 20 }, (_, i) => named(`10.0.0.${i}`, i === 7 ? weight : 1));
    const many = Array.from({ length: 20_000 }, (_, i) => `user-${i}`);
    const share = many.length / (19 + weight);
    for (const [target, count] of counts(placed(targets, many))) {
      const expected = target === targets[7]?.target ? weight * share : share;
      // Five standard deviations.
      expect(Math.abs(count - expected)).toBeLessThan(5 * Math.sqrt(expected));
    }
  });

  it("is the same in every version, or clients of two versions would not meet", () => {
    const targets = ["a", "b", "c", "d"].map((name) => named(name));
    const found = placed(targets, ["room 1", "room 2", "räume", "", "x".repeat(100)]);
    expect(found.map((target) => target.slice(7, 8)).join("")).toBe("adbdc");
  });
});

describe("a subset", () => {
  it("has its size, and changes by one when a target comes or goes", () => {
    fc.assert(
      fc.property(names, fc.string(), fc.integer({ min: 1, max: 10 }), fc.nat(), (all, client, size, nth) => {
        const targets = all.map((name) => named(name));
        const gone = targets[nth % targets.length]?.target ?? "";
        const before = chosen(client, size, targets);
        const after = chosen(
          client,
          size,
          targets.filter(({ target }) => target !== gone),
        );
        expect(before.size).toBe(Math.min(size, targets.length));
        expect([...before].filter((target) => !after.has(target))).toEqual(before.has(gone) ? [gone] : []);
        expect([...after].filter((target) => !before.has(target)).length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 200 },
    );
  });

  it("every target is in as many subsets as any other", () => {
    const targets = Array.from({ length: 50 }, (_, i) => named(`10.0.1.${i}`));
    const all = Array.from({ length: 2000 }, (_, i) => [...chosen(`pod-${i}`, 10, targets)]).flat();
    const expected = all.length / targets.length;
    for (const count of counts(all).values()) expect(Math.abs(count - expected)).toBeLessThan(5 * Math.sqrt(expected));
  });

  it("is chosen of each priority by itself", () => {
    const specs = Array.from({ length: 12 }, (_, i) => ({ ...spec(named(String(i))), priority: i % 3 }));
    const places = new Subset({ client: "c", size: 3 }).ranks(specs);
    for (const priority of [0, 1, 2]) {
      const own = specs.filter((each) => each.priority === priority).map(({ target }) => places.get(target));
      expect(own.filter((place) => place === 0)).toHaveLength(3);
    }
  });
});
