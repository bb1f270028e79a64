import { expect, test } from "vitest";
import { z } from "zod";
import { isTellable } from "../../src/codec/kinds.js";
import { nodeOf } from "../../src/index.js";
import type { NodeOf } from "../../src/schema/node.js";

const isUnionTellable = (...options: readonly z.ZodType[]): boolean =>
  isTellable(nodeOf(z.union(options as [z.ZodType, z.ZodType])) as NodeOf<"union">);

/** An object with 2^40 paths to its innermost fields. */
function doubling(innermost: z.ZodType): z.ZodType {
  let schema = innermost;
  for (let depth = 0; depth < 40; depth++) schema = z.object({ a: schema, b: schema });
  return schema;
}

test("options that name their parts many times are compared once for each pair of parts", () => {
  expect(isUnionTellable(doubling(z.object({ a: z.int() })), doubling(z.object({ a: z.int().min(1) })))).toBe(true);
  expect(isUnionTellable(doubling(z.object({ a: z.int().optional() })), doubling(z.object({ b: z.int() })))).toBe(
    false,
  );
});

test("options that require themselves are compared", () => {
  const own = (last: z.ZodType): z.ZodType => {
    const schema: z.ZodType = z.object({
      get next() {
        return schema;
      },
      last,
    });
    return schema;
  };
  expect(isUnionTellable(own(z.int()), own(z.int().min(1)))).toBe(true);
  expect(isUnionTellable(own(z.string()), own(z.int()))).toBe(true);
  expect(isUnionTellable(own(z.object({ a: z.int().optional() })), own(z.object({ b: z.int() })))).toBe(false);
});
