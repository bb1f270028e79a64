import fc from "fast-check";
import type { SchemaSample } from "./schemas.js";

/** The source of a schema in which `self` is a schema around it: in some container, since a type cannot be a bare part of itself. */
function containers(self: string, leaves: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.letrec<{ any: string; container: string }>((tie) => ({
    any: fc.oneof({ maxDepth: 3 }, leaves, fc.constant(self), tie("container")),
    container: fc.oneof(
      tie("any").map((item) => `z.array(${item})`),
      tie("any").map((item) => `z.array(${item}).readonly()`),
      tie("any").map((item) => `z.record(z.string(), ${item})`),
      tie("any").map((item) => `z.record(z.string(), ${item}).readonly()`),
      tie("any").map((item) => `z.record(z.string(), ${item}.optional())`),
      tie("any").map((item) => `z.record(z.string().max(9), z.array(${item}))`),
      tie("any").map((item) => `z.record(z.enum(["x", "y"]), ${item})`),
      tie("any").map((item) => `z.partialRecord(z.enum(["x", "y"]), ${item})`),
      tie("any").map((item) => `z.record(z.int(), ${item})`),
      tie("any").map((item) => `z.map(z.string(), ${item})`),
      tie("any").map((item) => `z.set(${item})`),
      tie("any").map((item) => `z.tuple([${item}, z.string().optional()], ${item})`),
      tie("any").map((item) => `z.object({ a: ${item}, b: ${item}.optional(), c: ${item}.nullable() })`),
      tie("any").map((item) => `z.looseObject({ a: ${item} })`),
      tie("any").map((item) => `z.object({ a: z.string() }).catchall(${item})`),
      tie("any").map((item) => `z.intersection(z.object({ a: ${item} }), z.object({ b: ${item} }))`),
      fc.tuple(tie("container"), tie("container")).map(([a, b]) => `z.union([${a}, z.null(), ${b}])`),
      fc
        .tuple(tie("container"), tie("any"))
        .map(([a, b]) => `z.discriminatedUnion("k", [${option("a", a)}, ${option("b", b)}])`),
    ),
  })).container;
}

function option(kind: string, item: string): string {
  return `z.object({ k: z.literal("${kind}"), v: ${item}.optional() })`;
}

/** Sources of schemas, of which the ones with an even number are inside themselves by that name, and others by that of the next. */
export function recursiveSchemas(leaf: fc.Arbitrary<SchemaSample>, count: number): fc.Arbitrary<string[]> {
  // The type of what a function makes is looked up in the schema's, which an annotation (`z.ZodType`) hides.
  const leaves = leaf
    .map(({ source }) => source)
    .filter((source) => !/transform|preprocess|stringbool|coerce/.test(source));
  const of = (i: number): fc.Arbitrary<string> =>
    containers(`z.lazy(() => R${i % 2 === 0 ? i : i - 1})`, leaves).map((source) =>
      i % 2 === 0 ? source : `z.union([z.string(), ${source}, z.array(z.lazy(() => R${i}))])`,
    );
  return fc.tuple(...Array.from({ length: count }, (_, i) => of(i)));
}
