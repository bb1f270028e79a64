import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { readChecks } from "../schema/checks.js";
import { summaryOf } from "../shape/checks.js";
import { compareChecks } from "./compare-checks.js";

type Amount = number | bigint;

/** Schemas of one of some kinds, with up to four checks by these bounds and steps. */
function schemasOf<A extends Amount>(
  kinds: readonly (() => z.ZodType<A>)[],
  bounds: readonly A[],
  steps: readonly A[],
): fc.Arbitrary<z.ZodType> {
  const bound = fc.constantFrom(...bounds);
  const check = fc.oneof(
    ...[z.gte, z.gt, z.lte, z.lt].map((by) => bound.map((at) => by(at))),
    fc.constantFrom(...steps).map((step) => z.multipleOf(step)),
  ) as fc.Arbitrary<z.core.$ZodCheck<A>>;
  return fc
    .tuple(fc.constantFrom(...kinds), fc.array(check, { maxLength: 4 }))
    .map(([kind, checks]) => kind().check(...checks));
}

const ofNumbers = schemasOf<number>(
  [z.number, z.int, z.int32, z.uint32, z.float32, z.float64],
  [-7, -2.5, -1, 0, 1, 1.5, 2, 4, 6],
  [0.5, 1, 1.5, 2, 3, 6],
);
const ofBigints = schemasOf<bigint>([z.bigint, z.int64, z.uint64], [-7n, -2n, -1n, 0n, 1n, 4n, 6n], [1n, 2n, 3n, 6n]);

const numbers = [-(2 ** 31) - 1, -(2 ** 31), 2 ** 31, 2 ** 32, 2 ** 53, 1e39, ...range(-8, 8, 0.5)];
const bigints = [-(2n ** 63n) - 1n, 2n ** 63n, 2n ** 64n, ...range(-8, 8, 1).map(BigInt)];

function range(from: number, to: number, step: number): number[] {
  return Array.from({ length: (to - from) / step + 1 }, (_, i) => from + i * step);
}

test.each([
  ["numbers", ofNumbers, numbers],
  ["bigints", ofBigints, bigints],
] as const)(
  "of %s nothing that is refused now was taken before, where no check is said to be tightened",
  (_, schemas, values) => {
    fc.assert(
      fc.property(schemas, schemas, (before, after) => {
        const changes = compareChecks(summaryOf(readChecks(before)), summaryOf(readChecks(after))).map(
          ({ kind }) => kind,
        );
        const takes = (schema: z.ZodType, value: unknown): boolean => schema.safeParse(value).success;
        if (changes.every((kind) => kind === "check-loosened")) {
          expect(values.filter((each) => takes(before, each) && !takes(after, each))).toEqual([]);
        }
        if (changes.every((kind) => kind === "check-tightened")) {
          expect(values.filter((each) => !takes(before, each) && takes(after, each))).toEqual([]);
        }
      }),
      { numRuns: 3000 },
    );
  },
);
