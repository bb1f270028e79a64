import fc from "fast-check";

/** A schema as source text, with values of it. */
export interface SchemaSample {
  readonly source: string;
  /** Values that it accepts, as msgpackr would write them: fields in order, nothing undefined, nothing unknown. */
  readonly valid: fc.Arbitrary<unknown>;
  /** Whether the wire says less than the value: a set is an array there, a map of text an object. */
  readonly lossy: boolean;
  /** Whether a value it accepts may be other than what it results in. */
  readonly optional?: boolean;
}

const leaf = (source: string, valid: fc.Arbitrary<unknown>, lossy = false): SchemaSample => ({ source, valid, lossy });

const text = fc.oneof(
  fc.string({ maxLength: 40, unit: "grapheme" }),
  fc.string({ maxLength: 40 }),
  fc.constantFrom("", "naïve", "日本語", "😀🎉", "\uFEFFbom", "x".repeat(31), "é".repeat(16), "y".repeat(300)),
);
const finite = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => (Object.is(x, -0) ? 0 : x)),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.constantFrom(0, 127, 128, 255, 256, 65535, 65536, -1, -32, -33, -128, -129, -32768, -32769, 2 ** 32, -(2 ** 31)),
);
const dates = fc.oneof(
  fc.date({ noInvalidDate: true }),
  fc.integer({ min: 0, max: 2 ** 31 }).map((seconds) => new Date(seconds * 1000)),
  fc.constantFrom(new Date(0), new Date(1), new Date(-1), new Date(2 ** 32 * 1000), new Date(2 ** 32 * 1000 - 1)),
);
const json = fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes("__proto__"));

const LEAVES: readonly SchemaSample[] = [
  leaf("z.string()", text),
  leaf("z.string().min(2).max(5)", fc.string({ minLength: 2, maxLength: 5 })),
  leaf("z.string().length(3)", fc.string({ minLength: 3, maxLength: 3, unit: "binary-ascii" })),
  leaf("z.string().regex(/^[a-z]+$/u)", fc.stringMatching(/^[a-z]+$/)),
  leaf('z.string().startsWith("a").endsWith("z").includes("m")', fc.constantFrom("amz", "a-m-z")),
  leaf("z.email()", fc.constantFrom("ada@example.com", "a.b@c.de")),
  leaf("z.uuid()", fc.uuid({ version: 4 })),
  leaf(
    "z.iso.datetime()",
    fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((d) => d.toISOString()),
  ),
  leaf("z.url()", fc.webUrl()),
  leaf("z.string().min(1).trim()", fc.constantFrom("a", " b ")),
  leaf("z.number()", finite),
  leaf("z.int()", fc.maxSafeInteger()),
  leaf("z.int().min(0).max(150)", fc.integer({ min: 0, max: 150 })),
  leaf("z.int32()", fc.integer()),
  leaf("z.nan()", fc.constant(Number.NaN)),
  leaf(
    "z.float32()",
    fc.float({ noNaN: true, noDefaultInfinity: true }).map((x) => (Object.is(x, -0) ? 0 : x)),
  ),
  leaf("z.number().positive().lt(10)", fc.double({ min: 0.1, max: 9 })),
  leaf("z.number().multipleOf(0.1)", fc.constantFrom(0.1, 0.3, 1.1, 2, -0.7)),
  leaf(
    "z.int().multipleOf(3)",
    fc.integer({ min: -1000, max: 1000 }).map((x) => x * 3 + 0),
  ),
  leaf("z.boolean()", fc.boolean()),
  leaf("z.null()", fc.constant(null)),
  leaf("z.date()", dates),
  leaf("z.date().min(new Date(0))", fc.date({ noInvalidDate: true, min: new Date(0) })),
  leaf("z.instanceof(Uint8Array)", fc.uint8Array({ maxLength: 300 })),
  leaf("z.any()", json),
  leaf("z.unknown()", json),
  leaf('z.literal("one")', fc.constant("one")),
  leaf('z.literal(["a", 2, null, true])', fc.constantFrom("a", 2, null, true)),
  leaf('z.enum(["red", "green", "blue"])', fc.constantFrom("red", "green", "blue")),
  leaf(
    'z.templateLiteral(["v", z.int()])',
    fc.integer({ min: 0, max: 99 }).map((n) => `v${n}`),
  ),
  leaf("z.coerce.number()", fc.integer()),
  leaf("z.string().refine((text) => text.length !== 4)", fc.constantFrom("a", "bcd")),
  leaf("z.string().transform((text) => text.length)", text),
  leaf("z.string().transform(Number).pipe(z.int().min(0))", fc.nat().map(String)),
  leaf("z.preprocess((value) => String(value), z.string().max(4))", fc.integer({ min: 0, max: 9999 })),
  leaf("z.stringbool()", fc.constantFrom("true", "no")),
  leaf("z.bigint()", fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }), true),
  leaf("z.bigint().min(0n).max(10n)", fc.bigInt({ min: 0n, max: 10n }), true),
  leaf("z.int64()", fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), true),
];

const FIELD_NAMES = [
  "id",
  "name",
  "b",
  "value",
  "p",
  "default",
  "content-type",
  "größe",
  "aRatherLongFieldNameOf32Characters",
  "x",
];

/**
 * Schemas of at most `depth` levels.
 *
 * @param withRefined draws refinements of schemas that have checks of their own, too
 */
export function schemas(depth: number, withRefined: boolean = false): fc.Arbitrary<SchemaSample> {
  const leaves = fc.constantFrom(...LEAVES);
  if (depth === 0) return leaves;
  const inner = schemas(depth - 1, withRefined);
  return fc.oneof(
    { weight: 2, arbitrary: leaves },
    { weight: 6, arbitrary: objects(inner) },
    { weight: 6, arbitrary: containers(inner) },
    { weight: 3, arbitrary: unions(inner) },
    { weight: 2, arbitrary: wrapped(inner, withRefined) },
    { weight: 2, arbitrary: runByZod(inner) },
  );
}

interface FieldSample {
  readonly name: string;
  readonly source: string;
  readonly valid: fc.Arbitrary<unknown>;
  readonly mayBeAbsent: boolean;
  readonly lossy: boolean;
}

function fields(
  inner: fc.Arbitrary<SchemaSample>,
  names: readonly string[] = FIELD_NAMES,
): fc.Arbitrary<FieldSample[]> {
  const absence = fc.constantFrom(
    ["", false],
    ["", false],
    ["", false],
    [".optional()", true],
    [".nullish()", true],
    [".nullable()", false],
    [".optional().nullable()", true],
    [".exactOptional()", true],
  ) as fc.Arbitrary<[string, boolean]>;
  const field = fc.record({ name: fc.constantFrom(...names), sample: inner, absence });
  return fc.uniqueArray(field, { selector: ({ name }) => name, maxLength: 6 }).map((all) =>
    all.map(({ name, sample, absence: [suffix, mayBeAbsent] }) => ({
      name,
      source: `${sample.source}${suffix}`,
      valid: suffix.includes("null") ? fc.option(sample.valid, { freq: 4 }) : sample.valid,
      mayBeAbsent,
      lossy: sample.lossy,
    })),
  );
}

function objectOf(all: readonly FieldSample[], kind: string, suffix = ""): SchemaSample {
  const source = `z.${kind}({ ${all.map(({ name, source: each }) => `${JSON.stringify(name)}: ${each}`).join(", ")} })${suffix}`;
  return { source, valid: objectValues(all), lossy: all.some((field) => field.lossy) };
}

function objectValues(all: readonly FieldSample[]): fc.Arbitrary<Record<string, unknown>> {
  const parts = all.map(({ valid, mayBeAbsent }) =>
    mayBeAbsent
      ? fc.option(
          valid.map((value) => [value]),
          { nil: [] },
        )
      : valid.map((value) => [value]),
  );
  return fc.tuple(...parts).map((values) => {
    const object: Record<string, unknown> = {};
    for (const [i, value] of values.entries()) if (value.length > 0) object[all[i]?.name ?? ""] = value[0];
    return object;
  });
}

function objects(inner: fc.Arbitrary<SchemaSample>): fc.Arbitrary<SchemaSample> {
  const kinds = fc.constantFrom(
    ["object", ""],
    ["object", ""],
    ["object", ""],
    ["strictObject", ""],
    ["looseObject", ""],
    ["object", ".catchall(z.string())"],
    ["object", '.refine((value) => !("more" in value) && Object.keys(value).length !== 7)'],
    ["looseObject", '.refine((value) => !("more" in value))'],
    ["object", ".readonly()"],
  ) as fc.Arbitrary<[string, string]>;
  return fc.tuple(fields(inner), kinds).map(([all, [kind, suffix]]) => objectOf(all, kind, suffix));
}

function containers(inner: fc.Arbitrary<SchemaSample>): fc.Arbitrary<SchemaSample> {
  const array = inner.map((item) => ({
    ...item,
    source: `z.array(${item.source})`,
    valid: fc.array(item.valid, { maxLength: 20 }),
  }));
  const bounded = inner.map((item) => ({
    ...item,
    source: `z.array(${item.source}).min(1).max(3)`,
    valid: fc.array(item.valid, { minLength: 1, maxLength: 3 }),
  }));
  const tuple = fc.tuple(inner, inner).map(([a, b]) => ({
    source: `z.tuple([${a.source}, ${b.source}])`,
    valid: fc.tuple(a.valid, b.valid),
    lossy: a.lossy || b.lossy,
  }));
  const openTuple = fc.tuple(inner, inner).map(([a, b]) => ({
    source: `z.tuple([${a.source}, ${b.source}.optional()], ${b.source})`,
    valid: fc.tuple(fc.tuple(a.valid), fc.array(b.valid, { maxLength: 3 })).map(([first, rest]) => [...first, ...rest]),
    lossy: a.lossy || b.lossy,
  }));
  const keys = fc.stringMatching(/^[a-z]{1,8}$/);
  const record = inner.map((item) => ({
    ...item,
    source: `z.record(z.string(), ${item.source})`,
    valid: fc.dictionary(keys, item.valid, { maxKeys: 5, noNullPrototype: true }),
  }));
  const fitting = inner.map((item) => ({
    ...item,
    source: `z.record(z.string().max(3), ${item.source})`,
    valid: fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), item.valid, { maxKeys: 5, noNullPrototype: true }),
  }));
  const exhaustive = inner.map((item) => ({
    ...item,
    source: `z.record(z.enum(["x", "y"]), ${item.source})`,
    valid: fc.tuple(item.valid, item.valid).map(([x, y]) => ({ x, y })),
  }));
  const partial = inner.map((item) => ({
    ...item,
    source: `z.partialRecord(z.enum(["x", "y"]), ${item.source})`,
    valid: item.valid.map((y) => ({ y })),
  }));
  const map = fc.tuple(inner, fc.constantFrom(...LEAVES.slice(0, 12))).map(([item, key]) => ({
    source: `z.map(${key.source}, ${item.source})`,
    valid: fc.array(fc.tuple(key.valid, item.valid), { maxLength: 5 }).map((entries) => new Map(entries)),
    lossy: true,
  }));
  const set = inner.map((item) => ({
    source: `z.set(${item.source}).max(10)`,
    valid: fc.array(item.valid, { maxLength: 10 }).map((items) => new Set(items)),
    lossy: true,
  }));
  return fc.oneof(array, array, bounded, tuple, openTuple, record, fitting, exhaustive, partial, map, set);
}

function unions(inner: fc.Arbitrary<SchemaSample>): fc.Arbitrary<SchemaSample> {
  const exact = inner.filter((sample) => !sample.lossy);
  const union = fc.tuple(exact, exact, exact).map(([a, b, c]) => ({
    source: `z.union([${a.source}, ${b.source}, ${c.source}])`,
    valid: fc.oneof(a.valid, b.valid, c.valid),
    lossy: false,
    optional: true,
  }));
  const tagged = fc.tuple(fields(inner), fields(inner)).map(([a, b]) => {
    const options = [a, b].map((each, i) => {
      const tag = { name: "kind", source: `z.literal("${"ab".charAt(i)}")`, valid: fc.constant("ab".charAt(i)) };
      return objectOf([{ ...tag, mayBeAbsent: false, lossy: false }, ...each], "object");
    });
    return {
      source: `z.discriminatedUnion("kind", [${options.map((option) => option.source).join(", ")}])`,
      valid: fc.oneof(...options.map((option) => option.valid)),
      lossy: options.some((option) => option.lossy),
    };
  });
  const both = fc.tuple(fields(inner, ["a", "b", "c"]), fields(inner, ["d", "e"])).map(([a, b]) => ({
    source: `z.intersection(${objectOf(a, "object").source}, ${objectOf(b, "object").source})`,
    valid: fc.tuple(objectValues(a), objectValues(b)).map(([left, right]) => ({ ...left, ...right })),
    lossy: [...a, ...b].some((field) => field.lossy),
  }));
  return fc.oneof(union, tagged, tagged, both);
}

function wrapped(inner: fc.Arbitrary<SchemaSample>, withRefined: boolean): fc.Arbitrary<SchemaSample> {
  const nullable = inner.map((item) => ({
    ...item,
    source: `${item.source}.nullable()`,
    valid: fc.option(item.valid),
  }));
  const defaulted = fc.constantFrom(
    'z.object({ a: z.string().default("d"), b: z.int().prefault(4), c: z.array(z.string()).default([]) })',
    'z.object({ a: z.string().default(() => "d"), b: z.int().catch(4), c: z.date().default(new Date(5)) })',
    'z.object({ a: z.string().optional().default("x"), b: z.int().default(1).optional(), c: z.any() })',
    'z.object({ a: z.string().default("x").nullable(), b: z.string().optional().nonoptional(), c: z.unknown().optional() })',
  );
  const defaults = defaulted.map((source) => ({
    source,
    valid: fc.oneof(
      fc.constantFrom({}, { b: 2 }, { a: "q", b: 3 }, { a: "q" }, { b: "s", c: 1 }),
      fc.record({ a: text, b: fc.integer(), c: fc.array(text) }),
    ),
    lossy: false,
    optional: true,
  }));
  const suffixes = fc.constantFrom(
    ".optional()",
    ".optional()",
    ".nullish()",
    ".nullable()",
    ".exactOptional()",
    ".readonly()",
    ".refine(() => true)",
    ".transform((value) => value)",
    ".pipe(z.any())",
    `.catch("c" as never)`,
  );
  const absent = fc
    .tuple(fc.constantFrom(`.default("x")`, `.prefault("x")`, ""), fc.array(suffixes, { maxLength: 3 }))
    .map(([value, after]) => ({
      source: `z.object({ a: z.string()${value}${after.join("")} })`,
      valid: fc.constantFrom({}, { a: "q" }),
      lossy: false,
      optional: true,
    }));
  const lazy = inner.map((item) => ({ ...item, source: `z.lazy(() => ${item.source})` }));
  const readonly = inner.map((item) => ({ ...item, source: `${item.source}.readonly()` }));
  const caught = fc
    .tuple(
      inner,
      fc.constantFrom(
        `"caught"`,
        "[]",
        "new Set()",
        "() => new Map()",
        "({ issues }: { issues: unknown[] }) => issues.length",
      ),
    )
    .map(([item, value]) => ({
      ...item,
      source: `${item.source}.catch(${value.includes("=>") ? `(${value}) as never` : `${value} as never`})`,
      optional: true,
    }));
  const refined = fc
    .tuple(
      inner,
      fc.constantFrom(["", ""], ["", ".nullable()"], ["", ".readonly()"], ["z.lazy(() => ", ")"]),
      fc.constantFrom("true", 'JSON.stringify(value, (_, each) => typeof each === "bigint" ? 0 : each)?.length !== 3'),
    )
    .map(([item, [before, after], condition]) => ({
      ...item,
      source: `${before}${item.source}${after}.refine((value) => ${condition})`,
    }));
  const more = withRefined ? [refined, refined] : [];
  return fc.oneof(nullable, defaults, defaults, absent, absent, lazy, readonly, caught, ...more);
}

/** Schemas that zod runs whole, whatever is inside them. */
function runByZod(inner: fc.Arbitrary<SchemaSample>): fc.Arbitrary<SchemaSample> {
  const around = fc.constantFrom<[before: string, after: string, valueOf: (value: unknown) => unknown]>(
    ["z.preprocess((value) => value, ", ")", (value) => value],
    ["z.codec(", ", z.any(), { decode: (value) => value, encode: (value) => value as never })", (value) => value],
    ["z.xor([", `, z.literal("none of the values")])`, (value) => value],
    ["z.looseRecord(z.string(), ", ")", (value) => ({ x: value, y: value })],
    ["z.record(z.literal([0, 1]), ", ")", (value) => ({ 0: value, 1: value })],
    [
      `z.discriminatedUnion("k", [z.object({ k: z.literal("a").optional(), v: `,
      ` }), z.object({ k: z.literal("b") })])`,
      (v) => ({ v }),
    ],
    [
      `z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.object({ k: z.literal("b"), v: `,
      ` })], { unionFallback: true } as never)`,
      (v) => ({ k: "b", v }),
    ],
  );
  return fc.tuple(inner, around).map(([item, [before, after, valueOf]]) => ({
    ...item,
    source: before + item.source + after,
    valid: item.valid.map(valueOf),
    optional: true,
  }));
}
