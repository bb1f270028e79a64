import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { checksOf } from "../shape/checks.js";
import { compareChecks } from "./compare-checks.js";

const bound = fc.constantFrom(-7, -2.5, -1, 0, 1, 1.5, 2, 4, 6);
const whole = fc.constantFrom(-7n, -2n, -1n, 0n, 1n, 4n, 6n);
const ofNumbers = fc
  .tuple(
    fc.constantFrom(z.number, z.int, z.int32, z.uint32, z.float32, z.float64),
    fc.array(
      fc.oneof(
        bound.map((at) => z.gte(at)),
        bound.map((at) => z.gt(at)),
        bound.map((at) => z.lte(at)),
        bound.map((at) => z.lt(at)),
        fc.constantFrom(0.5, 1, 1.5, 2, 3, 6).map((step) => z.multipleOf(step)),
      ),
      { maxLength: 4 },
    ),
  )
  .map(([make, checks]): z.ZodType => (make() as z.ZodType<number>).check(...checks));
const ofBigints = fc
  .tuple(
    fc.constantFrom(z.bigint, z.int64, z.uint64),
    fc.array(
      fc.oneof(
        whole.map((at) => z.gte(at)),
        whole.map((at) => z.gt(at)),
        whole.map((at) => z.lte(at)),
        whole.map((at) => z.lt(at)),
        fc.constantFrom(1n, 2n, 3n, 6n).map((step) => z.multipleOf(step)),
      ),
      { maxLength: 4 },
    ),
  )
  .map(([make, checks]): z.ZodType => (make() as z.ZodType<bigint>).check(...checks));

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
        const changes = compareChecks(checksOf(before), checksOf(after)).map(({ kind }) => kind);
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
