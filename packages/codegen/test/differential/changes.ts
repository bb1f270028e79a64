import fc from "fast-check";
import { type SchemaSample, schemas } from "../codec/schemas.js";

/** Two versions of a schema. */
export interface SchemaChange {
  readonly before: SchemaSample;
  readonly after: SchemaSample;
}

/** Schemas of which `quicrpc breaking` cannot know what they take: functions of the author decide it. */
const NOT_COMPARED = /preprocess|prefault|nonoptional|unionFallback|refine\(|literal\("none/;

/** Changes of schemas of at most `depth` levels. */
export function schemaChanges(depth: number): fc.Arbitrary<SchemaChange> {
  const compared = schemas(Math.min(depth, 2)).filter(({ source }) => !NOT_COMPARED.test(source));
  return changes(depth, compared);
}

function changes(depth: number, any: fc.Arbitrary<SchemaSample>): fc.Arbitrary<SchemaChange> {
  const here = fc.oneof(
    { weight: 1, arbitrary: fc.tuple(any, any).map(([before, after]) => ({ before, after })) },
    { weight: 1, arbitrary: any.map((same) => ({ before: same, after: same })) },
    { weight: 2, arbitrary: checks() },
    { weight: 3, arbitrary: wrappers(any) },
    { weight: 5, arbitrary: fields(any) },
    { weight: 3, arbitrary: options(any) },
    { weight: 2, arbitrary: items(any) },
    { weight: 2, arbitrary: converted() },
    { weight: 2, arbitrary: intersections(any) },
  );
  const both = here.chain((change) => fc.boolean().map((turned) => (turned ? turn(change) : change)));
  return depth === 0
    ? both
    : fc.oneof({ weight: 2, arbitrary: both }, { weight: 3, arbitrary: around(changes(depth - 1, any)) });
}

function turn({ before, after }: SchemaChange): SchemaChange {
  return { before: after, after: before };
}

const sampleOf = (source: string, valid: fc.Arbitrary<unknown>, lossy = false): SchemaSample => ({
  source,
  valid,
  lossy,
});

/** Schemas of one type whose checks differ. */
function checks(): fc.Arbitrary<SchemaChange> {
  const texts = [
    "",
    ".min(1)",
    ".min(2)",
    ".max(3)",
    ".max(8)",
    ".length(2)",
    ".regex(/^a/)",
    '.startsWith("a")',
    ".email()",
    ".uuid()",
  ];
  const numbers = [
    "",
    ".min(0)",
    ".min(5)",
    ".max(9)",
    ".gt(4)",
    ".lt(100)",
    ".multipleOf(2)",
    ".multipleOf(3)",
    ".int()",
  ];
  const lists = ["", ".min(1)", ".min(2)", ".max(2)", ".max(5)", ".length(2)"];
  const of = (head: string, all: readonly string[], valid: fc.Arbitrary<unknown>): fc.Arbitrary<SchemaChange> => {
    const version = fc
      .uniqueArray(fc.constantFrom(...all), { maxLength: 3 })
      .map((each) => sampleOf(head + each.join(""), valid));
    return fc.tuple(version, version).map(([before, after]) => ({ before, after }));
  };
  const words = fc.oneof(fc.string({ maxLength: 9 }), fc.constantFrom("", "a", "ab", "abc", "a@b.cd", "zz"));
  return fc.oneof(
    of("z.string()", texts, words),
    of(
      "z.number()",
      numbers,
      fc.oneof(fc.integer({ min: -3, max: 12 }), fc.double({ noNaN: true, min: -5, max: 150 })),
    ),
    of("z.array(z.int())", lists, fc.array(fc.integer({ min: -3, max: 3 }), { maxLength: 6 })),
    of(
      "z.set(z.int())",
      lists.slice(0, 5),
      fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { maxLength: 6 }).map((each) => new Set(each)),
    ),
  );
}

/** Texts that are changed or converted before, or between, checks. */
function converted(): fc.Arbitrary<SchemaChange> {
  const parts = fc.constantFrom(
    ".trim()",
    ".toLowerCase()",
    ".toUpperCase()",
    '.normalize("NFKC")',
    ".min(2)",
    ".max(2)",
    ".regex(/^[a-z ]*$/)",
    '.check(z.property("length", z.int().min(1)))',
    '.check(z.property("length", z.int().min(2)))',
    ".pipe(z.string().min(2))",
    ".pipe(z.string().max(3))",
    ".optional()",
    ".exactOptional()",
    '.catch("c")',
  );
  const heads = fc.constantFrom(
    "z.string()",
    "z.string()",
    "z.string()",
    "z.stringbool()",
    'z.stringbool({ truthy: ["a"], falsy: ["AB"] })',
    'z.stringbool({ truthy: ["a", "yes"], falsy: ["AB"], case: "sensitive" })',
    "z.coerce.string()",
    'z.templateLiteral([z.enum(["a", "A"]), z.string()])',
    'z.xor([z.literal("a"), z.string().min(2)])',
  );
  const text = fc.constantFrom("", " ", "a", "A", "ab", " a", "a ", "AB", "\ufb01", "abcd", "yes", "Yes", "no");
  const inArray = (source: string): string => `z.array(${source})`;
  const version = fc.tuple(heads, fc.array(parts, { maxLength: 3 })).map(([head, more]) => {
    // Only texts have these checks, and only before they are wrapped.
    const own = head === "z.string()" || head === "z.coerce.string()" ? more : more.slice(0, 1).filter(isWrapper);
    const end = own.findIndex(isWrapper);
    const source = head + (end === -1 ? own : own.slice(0, end + 1)).join("");
    return { source: inArray(source), valid: fc.array(text, { minLength: 1, maxLength: 2 }), lossy: false };
  });
  return fc.tuple(version, version).map(([before, after]) => ({ before, after }));
}

function isWrapper(part: string): boolean {
  return /^\.(?:pipe|optional|exactOptional|catch)/.test(part);
}

/** Intersections of objects, whose parts differ. A loose part would keep a value that the other part converts. */
function intersections(any: fc.Arbitrary<SchemaSample>): fc.Arbitrary<SchemaChange> {
  const bounds = fc.constantFrom("", ".min(1)", ".min(2)", ".optional()");
  const kinds = fc.constantFrom("object", "object", "strictObject");
  const version = (sample: SchemaSample) =>
    fc.tuple(kinds, kinds, bounds, bounds).map(([left, right, a, b]) => ({
      ...sample,
      source: `z.intersection(z.${left}({ n: z.int()${a}, v: ${sample.source} }), z.${right}({ n: z.int()${b} }))`,
      valid: fc.tuple(fc.integer({ min: 0, max: 3 }), sample.valid).map(([n, v]) => ({ n, v })),
    }));
  return any.chain((sample) =>
    fc.tuple(version(sample), version(sample)).map(([before, after]) => ({ before, after })),
  );
}

function wrappers(any: fc.Arbitrary<SchemaSample>): fc.Arbitrary<SchemaChange> {
  const suffixes = fc.constantFrom(
    "",
    ".nullable()",
    ".optional()",
    ".nullish()",
    ".readonly()",
    ".brand('B')",
    ".describe('D')",
  );
  const version = (inner: SchemaSample, suffix: string): SchemaSample => {
    const absent = /null/.test(suffix) ? [null] : /optional/.test(suffix) ? [undefined] : [];
    const valid = absent.length === 0 ? inner.valid : fc.oneof(inner.valid, fc.constantFrom<unknown>(...absent));
    return { ...inner, source: inner.source + suffix, valid };
  };
  return fc
    .tuple(any, suffixes, suffixes)
    .map(([inner, a, b]) => ({ before: version(inner, a), after: version(inner, b) }));
}

/** Objects that have some fields in common. */
function fields(any: fc.Arbitrary<SchemaSample>): fc.Arbitrary<SchemaChange> {
  const presence = fc.constantFrom("", "", ".optional()", ".nullish()", "absent");
  const field = fc.record({
    name: fc.constantFrom("a", "b", "c", "kind"),
    sample: any,
    before: presence,
    after: presence,
  });
  const kinds = fc.constantFrom("object", "object", "object", "strictObject", "looseObject");
  return fc
    .tuple(fc.uniqueArray(field, { selector: ({ name }) => name, maxLength: 4 }), kinds, kinds)
    .map(([all, before, after]) => {
      const version = (kind: string, of: "before" | "after"): SchemaSample => {
        const present = all.filter((each) => each[of] !== "absent");
        const parts = present.map(({ name, sample, [of]: suffix }) => `${name}: ${sample.source}${suffix}`);
        const values = present.map(({ name, sample, [of]: suffix }) => {
          const value = sample.valid.map((each): [string, unknown][] => [[name, each]]);
          return suffix === "" ? value : fc.oneof(value, fc.constant<[string, unknown][]>([]));
        });
        const lossy = present.some((each) => each.sample.lossy);
        return sampleOf(
          `z.${kind}({ ${parts.join(", ")} })`,
          fc.tuple(...values).map((each) => Object.fromEntries(each.flat())),
          lossy,
        );
      };
      return { before: version(before, "before"), after: version(after, "after") };
    });
}

/** Unions and enums that have some options in common. */
function options(any: fc.Arbitrary<SchemaSample>): fc.Arbitrary<SchemaChange> {
  const words = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 4 });
  const enumOf = (each: readonly string[]): SchemaSample =>
    sampleOf(`z.enum(${JSON.stringify(each)})`, fc.constantFrom(...each));
  const exact = any.filter(({ lossy }) => !lossy);
  const union = fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 4 });
  return fc.oneof(
    fc.tuple(words, words).map(([before, after]) => ({ before: enumOf(before), after: enumOf(after) })),
    fc.tuple(exact, exact, exact, exact, union, union).map(([a, b, c, d, before, after]) => {
      const version = (of: readonly number[]): SchemaSample => {
        const chosen = [a, b, c, d].filter((_, index) => of.includes(index));
        return sampleOf(
          `z.union([${chosen.map(({ source }) => source).join(", ")}])`,
          fc.oneof(...chosen.map(({ valid }) => valid)),
        );
      };
      return { before: version(before), after: version(after) };
    }),
    fc.tuple(any, any, union, union).map(([a, b, before, after]) => {
      const version = (of: readonly number[]): SchemaSample => {
        const tags = of
          .toSorted((x, y) => x - y)
          .map((each) => ({ tag: "abcd".charAt(each), of: each % 2 === 0 ? a : b }));
        const objects = tags.map(({ tag, of: each }) => `z.object({ kind: z.literal("${tag}"), v: ${each.source} })`);
        const values = tags.map(({ tag, of: each }) => each.valid.map((v) => ({ kind: tag, v })));
        return sampleOf(
          `z.discriminatedUnion("kind", [${objects.join(", ")}])`,
          fc.oneof(...values),
          a.lossy || b.lossy,
        );
      };
      return { before: version(before), after: version(after) };
    }),
  );
}

/** Tuples and records that differ in what they ask for. */
function items(any: fc.Arbitrary<SchemaSample>): fc.Arbitrary<SchemaChange> {
  const counts = fc.tuple(fc.nat(3), fc.nat(3), fc.boolean());
  const tuples = fc.tuple(any, counts, counts).map(([item, before, after]) => {
    const version = ([required, more, hasRest]: readonly [number, number, boolean]): SchemaSample => {
      const all = [
        ...Array.from({ length: required }, () => item.source),
        ...Array.from({ length: more }, () => `${item.source}.optional()`),
      ];
      const most = required + more + (hasRest ? 2 : 0);
      return {
        ...item,
        source: `z.tuple([${all.join(", ")}]${hasRest ? `, ${item.source}` : ""})`,
        valid: fc.array(item.valid, { minLength: required, maxLength: most }),
      };
    };
    return { before: version(before), after: version(after) };
  });
  const keys = fc.constantFrom(
    ["z.record(z.string(), ", ["a", "xyz"]],
    ['z.record(z.enum(["x", "y"]), ', ["x", "y"]],
    ['z.record(z.enum(["x", "y", "z"]), ', ["x", "y", "z"]],
    ['z.partialRecord(z.enum(["x", "y"]), ', ["x"]],
    ['z.partialRecord(z.enum(["x", "y", "z"]), ', ["y", "z"]],
  ) as fc.Arbitrary<[string, readonly string[]]>;
  const records = fc.tuple(any, keys, keys).map(([item, before, after]) => {
    const version = ([head, names]: readonly [string, readonly string[]]): SchemaSample => ({
      ...item,
      source: `${head}${item.source})`,
      valid: fc
        .tuple(...names.map(() => item.valid))
        .map((each) => Object.fromEntries(names.map((name, i) => [name, each[i]]))),
    });
    return { before: version(before), after: version(after) };
  });
  return fc.oneof(tuples, records);
}

/** A change inside of another schema. */
function around(inner: fc.Arbitrary<SchemaChange>): fc.Arbitrary<SchemaChange> {
  const forms = fc.constantFrom<(sample: SchemaSample) => SchemaSample>(
    (each) => ({
      ...each,
      source: `z.object({ inner: ${each.source}, more: z.int().optional() })`,
      valid: each.valid.map((inner) => ({ inner })),
    }),
    (each) => ({
      ...each,
      source: `z.object({ inner: ${each.source}.optional() })`,
      valid: fc.option(each.valid, { nil: undefined }).map((inner) => (inner === undefined ? {} : { inner })),
    }),
    (each) => ({ ...each, source: `z.array(${each.source})`, valid: fc.array(each.valid, { maxLength: 3 }) }),
    (each) => ({ ...each, source: `z.record(z.string(), ${each.source})`, valid: each.valid.map((x) => ({ x })) }),
    (each) => ({
      source: `z.map(z.string(), ${each.source})`,
      valid: each.valid.map((x) => new Map([["x", x]])),
      lossy: true,
    }),
    (each) => ({ ...each, source: `${each.source}.nullable()`, valid: fc.option(each.valid) }),
    (each) => ({ ...each, source: `z.lazy(() => ${each.source})` }),
    (each) => ({
      ...each,
      source: `z.object({ get self() { return ${each.source} }, left: z.int() })`,
      valid: each.valid.map((self) => ({ self, left: 1 })),
    }),
    (each) => ({ ...each, source: `z.union([z.literal("one of its own"), ${each.source}])` }),
  );
  return fc.tuple(inner, forms).map(([{ before, after }, form]) => ({ before: form(before), after: form(after) }));
}
