import fc from "fast-check";
import { expect, it } from "vitest";
import { Positions } from "./positions.js";

const LAST = 200;
const ranges = fc
  .array(fc.tuple(fc.nat(LAST), fc.nat(70)))
  .map((all) => all.sort(([a], [b]) => a - b).map(([first, more]) => [first, Math.min(LAST, first + more)] as const));

function of(all: readonly (readonly [number, number])[]): [Positions, Set<number>] {
  const [found, expected] = [new Positions(all[0]?.[0] ?? 0, LAST), new Set<number>()];
  for (const [first, last] of all) {
    found.add(first, last);
    for (let at = first; at <= last; at++) expected.add(at);
  }
  return [found, expected];
}

function listed(positions: Positions): number[] {
  const all: number[] = [];
  for (let at = positions.next(0); at >= 0; at = positions.next(at + 1)) all.push(at);
  return all;
}

it("holds the positions that were added", () => {
  fc.assert(
    fc.property(ranges, ranges, (one, other) => {
      const [a, inA] = of(one);
      const [b, inB] = of(other);
      const both = Positions.ofBoth(a, b);
      const expected = [...new Set([...inA, ...inB])].sort((x, y) => x - y);
      expect(listed(a)).toEqual([...inA].sort((x, y) => x - y));
      expect(listed(both)).toEqual(expected);
      expect([both.isEmpty, both.last]).toEqual([expected.length === 0, expected.at(-1) ?? -1]);
      for (let at = 0; at <= LAST + 40; at++) expect(both.has(at)).toBe(expected.includes(at));
      for (const at of expected) {
        const next = Array.from({ length: LAST + 2 }, (_, i) => i).find((i) => i >= at && !expected.includes(i));
        expect(both.after(at)).toBe(next);
      }
    }),
  );
});
