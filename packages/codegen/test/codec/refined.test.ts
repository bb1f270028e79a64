// Refinements: zod runs them on what compiled code makes of the schema inside, which has checks of its own.
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.js";
import { compileSamples, encode } from "./compile.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const CASES: readonly (readonly [source: string, fits: unknown, refused: unknown])[] = [
  ['z.enum(["a", "b"]).refine(() => true)', "a", "c"],
  ['z.literal("a").refine(() => true)', "a", "c"],
  ['z.templateLiteral(["v", z.int()]).refine(() => true)', "v1", "w"],
  ["z.string().min(3).nullable().refine(() => true)", "abc", "a"],
  ["z.object({ a: z.int().max(3).readonly().refine(() => true) })", { a: 3 }, { a: 4 }],
  ["z.lazy(() => z.int().max(3)).refine(() => true)", 3, 4],
  ["z.object({ a: z.string().max(2).optional().refine(() => true) })", { a: "aa" }, { a: "aaa" }],
  ["z.object({ a: z.int() }).refine((value) => !('more' in value))", { a: 1, more: 2 }, { a: "1" }],
  ["z.array(z.object({ a: z.int().default(2) }).refine(({ a }) => a === 2))", [{}, { a: 2 }], [{ a: 3 }]],
  [
    "z.union([z.object({ a: z.int() }).refine(({ a }) => a > 1), z.object({ a: z.int(), b: z.string() })])",
    { a: 1, b: "b" },
    { a: 1 },
  ],
  [
    'z.discriminatedUnion("k", [z.object({ k: z.literal("a").describe("A.") }), z.object({ k: z.literal("b").meta({}), b: z.int() })])',
    { k: "b", b: 1 },
    { k: "b" },
  ],
  ['z.templateLiteral(["x-", null, "-", z.int()])', "x-null-1", "x--1"],
  // Compiled code refuses what the shape of the first option accepts.
  [
    'z.union([z.object({ a: z.object({ b: z.string().prefault("x").refine(() => true).optional() }) }), z.object({})])',
    { a: {} },
    1,
  ],
  // The elements of too many are not looked at.
  ["z.array(z.string().transform((text) => text.length)).min(1).max(2).refine(() => true)", ["a"], [1, 2, 3]],
  ["z.array(z.string().transform((text) => text.length)).min(2).refine(() => true)", ["a", "b"], [1]],
  // Bounds that stop zod, without other checks.
  ["z.array(z.string().transform((text) => text.length)).max(1, { abort: true })", ["a"], [1, 2]],
  ["z.array(z.int()).min(2, { abort: true }).length(2)", [1, 2], [1]],
  ["z.array(z.int()).min(2, { abort: true }).refine(([, second]) => second !== undefined)", [1, 2], [1]],
  ["z.set(z.int()).max(1, { abort: true })", new Set([1]), new Set([1, 2])],
  // A refined schema inside itself is written and read.
  ["Tree", { next: { next: { next: null } } }, { next: { next: 3 } }],
];

const TREE = `const Tree = z
  .object({
    get next() {
      return Tree.nullable();
    },
  })
  .refine((value) => value !== undefined);`;

describe("a refined schema takes what zod takes", async () => {
  const samples = CASES.map(([source]) => ({ source, valid: fc.constant(undefined), lossy: false }));
  const [compiled, anything] = await Promise.all([
    compileSamples(workspace, "refined.service.ts", samples, true, TREE),
    compileSamples(workspace, "anything.service.ts", [{ source: "z.any()", valid: fc.constant(0), lossy: false }]),
  ]);
  for (const [index, [source, fits, refused]] of CASES.entries()) {
    test(`as zod: ${source}`, () => {
      const { schema, codec } = compiled[index] ?? expect.unreachable();
      const unchecked = anything[0]?.codec ?? expect.unreachable();
      for (const sender of [codec, unchecked]) {
        const bytes = encode(sender, fits);
        expect(codec.decode(bytes, 0, bytes.length)).toStrictEqual(schema.parse(fits));
      }
      const issues = schema
        .safeParse(refused)
        .error?.issues.map(({ path, code }) => expect.objectContaining({ path, code }));
      const error = expect.objectContaining({ code: "invalid_argument", details: issues });
      expect(() => encode(codec, refused)).toThrow(error);
      const bytes = encode(unchecked, refused);
      expect(() => codec.decode(bytes, 0, bytes.length)).toThrow(error);
    });
  }
});
