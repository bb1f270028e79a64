import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { MockError } from "./schema.js";
import { mockValue, valuesOf } from "./values.js";

interface Tree {
  readonly name: string;
  readonly left?: Tree | undefined;
  readonly children: readonly Tree[];
}
const Tree: z.ZodType<Tree> = z.lazy(() =>
  z.object({ name: z.string(), left: Tree.optional(), children: z.array(Tree) }),
);

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  string: z.string(),
  short: z.string().max(3),
  long: z.string().min(40).max(60),
  exact: z.string().length(7),
  pattern: z.string().regex(/^[A-Z]{2}-\d{4}$/),
  affixes: z.string().startsWith("id-").max(20),
  formats: z.object({
    email: z.email(),
    url: z.url(),
    uuid: z.uuid(),
    v7: z.uuidv7(),
    guid: z.guid(),
    cuid: z.cuid(),
    cuid2: z.cuid2(),
    ulid: z.ulid(),
    nanoid: z.nanoid(),
    datetime: z.iso.datetime(),
    date: z.iso.date(),
    time: z.iso.time(),
    duration: z.iso.duration(),
    ipv4: z.ipv4(),
    ipv6: z.ipv6(),
    cidrv4: z.cidrv4(),
    cidrv6: z.cidrv6(),
    base64: z.base64(),
    base64url: z.base64url(),
    jwt: z.jwt(),
    emoji: z.emoji(),
    e164: z.e164(),
    hostname: z.hostname(),
    hex: z.hex(),
  }),
  numbers: z.object({
    any: z.number(),
    int: z.int(),
    int32: z.int32(),
    uint32: z.uint32(),
    float32: z.float32(),
    range: z.number().min(2).max(3),
    above: z.number().gt(0).lt(0.5),
    positive: z.int().positive(),
    negative: z.int().negative(),
    steps: z.number().multipleOf(0.25).max(10),
    fives: z.int().multipleOf(5).min(7).max(23),
    far: z.int().min(1_000_000),
    below: z.number().max(-5000),
  }),
  bigints: z.object({
    any: z.bigint(),
    range: z.bigint().min(-5n).max(5n),
    int64: z.int64(),
    uint64: z.uint64(),
    above: z.bigint().gt(10n),
  }),
  dates: z.object({
    any: z.date(),
    past: z.date().max(new Date(0)),
    range: z.date().min(new Date(5)).max(new Date(9)),
  }),
  literals: z.object({
    one: z.literal("a"),
    some: z.literal([1, "b", null]),
    list: z.enum(["x", "y"]),
    nothing: z.null(),
    gone: z.undefined(),
  }),
  wrapped: z.object({
    a: z.string().optional(),
    b: z.int().nullable(),
    c: z.int().default(4),
    d: z.string().catch("x"),
    e: z.int().readonly(),
    f: z.int().prefault(3),
  }),
  strict: z.strictObject({ a: z.int() }),
  lists: z.object({
    any: z.array(z.int()),
    some: z.array(z.int()).min(2).max(3),
    exact: z.array(z.boolean()).length(2),
    none: z.array(z.int()).max(0),
  }),
  tuples: z.tuple([z.string(), z.int()], z.boolean()),
  sets: z.set(z.int()).min(2).max(4),
  maps: z.map(z.string(), z.int()),
  records: z.object({
    any: z.record(z.string(), z.int()),
    all: z.record(z.enum(["a", "b"]), z.int()),
    some: z.partialRecord(z.enum(["a", "b"]), z.int()),
  }),
  unions: z.union([z.string(), z.int(), z.object({ a: z.int() })]),
  discriminated: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("a"), a: z.int() }),
    z.object({ kind: z.literal("b"), b: z.string() }),
  ]),
  intersections: z.intersection(z.object({ a: z.int() }), z.object({ b: z.string() })),
  bytes: z.instanceof(Uint8Array),
  arrays: z.object({ a: z.instanceof(Float64Array), b: z.instanceof(BigInt64Array) }),
  transforms: z.string().transform((text) => text.length),
  pipes: z.codec(z.iso.datetime(), z.date(), {
    decode: (text) => new Date(text),
    encode: (date) => date.toISOString(),
  }),
  nulls: z.templateLiteral(["x-", null, "-", z.int()]),
  preprocessed: z.preprocess((value) => value, z.int()),
  templates: z.templateLiteral(["v", z.int().min(0), "-", z.enum(["a", "b"])]),
  refined: z.int().refine((value) => value % 2 === 0),
  trees: Tree,
};

describe("data made from schemas", () => {
  it.each(Object.entries(SCHEMAS))(
    "passes its schema, whatever the seed, and is the same for the same: %s",
    (_name, schema) => {
      const source = valuesOf(schema);
      fc.assert(
        fc.property(fc.integer(), (seed) => {
          const value = mockValue(schema, source, seed);
          expect(schema.safeParse(value).success).toBe(true);
          expect(mockValue(schema, source, seed)).toEqual(value);
        }),
        { numRuns: 30 },
      );
    },
  );

  it("says what it makes no data of", () => {
    const never = z.int().refine(() => false);
    expect(() => mockValue(never, valuesOf(never), 1)).toThrow(
      new MockError("of 200 values none passes the schema's own checks"),
    );
    expect(() => valuesOf(z.symbol() as never)).toThrow("no data is made of a symbol");
  });
});

it("makes bytes of a length that only a refinement demands", () => {
  const schema = z.instanceof(Uint8Array).refine((bytes) => bytes.length === 16);
  expect(mockValue(schema, valuesOf(schema), 1)).toHaveLength(16);
});
