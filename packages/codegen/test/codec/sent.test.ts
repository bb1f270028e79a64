// Values that look like others to zod: a sender refuses them, or its receiver gets what zod makes of them.
import { json } from "@quicrpc/core";
import { jsonCodecOf } from "@quicrpc/http";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { compileSamples, encode } from "../codec/compile.js";
import { same } from "../codec/same.js";
import { createWorkspace } from "../workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

class Inherited {
  get message(): string {
    return "from a getter";
  }
}

/** A schema, a value of it, and what the receiver is to get, unless it is what zod makes of the value here. */
const CASES: readonly (readonly [name: string, source: string, value: unknown, received?: unknown])[] = [
  ["an Error where an object is refined", "z.object({ message: z.string() }).refine(() => true)", new Error("late")],
  ["a getter of a class", "z.object({ message: z.string() }).refine(() => true)", new Inherited()],
  [
    "an inherited field",
    "z.object({ message: z.string() }).refine(() => true)",
    Object.create({ message: "inherited" }),
  ],
  [
    "an Error where an object is loose",
    "z.looseObject({ message: z.string() })",
    new Error("late"),
    { message: "late" },
  ],
  ["an inherited field of a loose object", "z.looseObject({ a: z.literal(1) })", Object.create({ a: 1, b: "b" })],
  ["an undefined field of a loose object", "z.looseObject({ a: z.int() })", { a: 1, b: undefined }],
  ["a method that is inherited", "z.looseObject({ a: z.int() })", Object.assign(new Inherited(), { a: 1 }), { a: 1 }],
  ["NaN", "z.object({ a: z.nan(), b: z.union([z.string(), z.nan()]) })", { a: Number.NaN, b: Number.NaN }],
  [
    "NaN as a default and as a key",
    "z.object({ a: z.nan().default(NaN), b: z.map(z.nan(), z.int()) })",
    { b: new Map([[Number.NaN, 1]]) },
  ],
  [
    "typed arrays",
    `z.object({
      a: z.instanceof(Float64Array),
      b: z.array(z.instanceof(Int16Array).describe("b")),
      c: z.instanceof(BigInt64Array).refine((list) => list.length > 0).optional(),
      d: z.instanceof(Uint8ClampedArray).nullable(),
      e: z.map(z.string(), z.instanceof(Uint32Array)),
    })`,
    {
      a: Float64Array.of(1, 0.1, Number.NaN, Infinity).subarray(1),
      b: [Int16Array.of(1, -2), new Int16Array()],
      c: BigInt64Array.of(-1n, 2n ** 60n),
      d: Uint8ClampedArray.of(1, 2, 255),
      e: new Map([["x", Uint32Array.of(2 ** 32 - 1)]]),
    },
  ],
  ["a typed array of a union", "z.union([z.string(), z.instanceof(Float32Array)])", Float32Array.of(1, 0.5)],
  ["typed arrays that zod tests", "z.xor([z.int(), z.instanceof(Float64Array)])", Float64Array.of(1, 0.5)],
  ["typed arrays as a message", "z.instanceof(Int8Array)", Int8Array.of(-1, 2)],
  ["a default of a record's values", "z.record(z.string(), z.int().default(3))", { a: undefined }],
  [
    "an object that without undeclared keys fits an earlier option of a union",
    "z.union([z.object({ a: z.int().default(1), b: z.int().optional() }), z.object({ c: z.int().optional() })])",
    { b: "x", c: 1 },
  ],
  [
    "the same inside arrays",
    "z.union([z.array(z.object({ a: z.int().optional() })), z.array(z.object({ b: z.int() }).readonly())])",
    [{ a: "x", b: 4 }],
  ],
  [
    "an object that without undeclared keys fits an earlier record",
    'z.union([z.partialRecord(z.enum(["x"]), z.int()), z.object({ a: z.string().default("d") })])',
    { y: 1, x: 2 },
  ],
  [
    "undefined, which an earlier option refuses",
    "z.union([z.object({ a: z.int(), b: z.int().exactOptional() }), z.object({ a: z.int().transform(String) })])",
    { a: 1, b: undefined },
  ],
  [
    "an undefined field that an earlier option does not declare",
    "z.union([z.strictObject({ a: z.int() }), z.object({ a: z.int().transform(String) })])",
    { a: 1, b: undefined },
  ],
  [
    "an undefined field with a key that an earlier option refuses",
    'z.union([z.partialRecord(z.enum(["a"]), z.int()), z.object({ a: z.int().transform(String) })])',
    { a: 1, b: undefined },
  ],
  [
    "an undefined field that an option run by zod refuses",
    "z.union([z.record(z.literal([0, 1]), z.looseRecord(z.string(), z.strictObject({}))), z.object({ a: z.int().default(1) })])",
    { 0: {}, 1: { b: { c: undefined } } },
  ],
  ["a typed array where anything may be", "z.any()", new Float64Array([1, 2])],
  ["an Error where anything may be", "z.any()", new Error("late"), { message: "late" }],
  ["a Map of another realm where anything may be", "z.any()", runInNewContext("new Map([[1, 2]])"), new Map([[1, 2]])],
];

test("a refusal says where", async () => {
  const samples = [{ source: "z.object({ list: z.array(z.any()) })", valid: fc.constant(undefined), lossy: false }];
  const [sample] = await compileSamples(workspace, "places.service.ts", samples);
  const { codec } = sample ?? expect.unreachable();
  const value = { list: [1, { a: new Map([["b", new Float32Array(1)]]) }] };
  expect(() => encode(codec, value)).toThrow("the value cannot be sent: Float32Array at /list/1/a/b");
  expect(() => encode(codec, { list: [{ run() {} }] })).toThrow("the value cannot be sent: function at /list/0/run");
});

test("typed arrays are their bytes, little-endian, and all of their last item", async () => {
  const samples = [{ source: "z.instanceof(Float64Array)", valid: fc.constant(undefined), lossy: false }];
  const [sample] = await compileSamples(workspace, "arrays.service.ts", samples);
  const { codec } = sample ?? expect.unreachable();
  const bytes = encode(codec, Float64Array.of(1));
  expect([...bytes]).toEqual([0xc4, 8, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
  expect(() => encode(codec, Uint8Array.of(1))).toThrow("expected Float64Array, received Uint8Array");
  const cut = Uint8Array.of(0xc4, 7, ...bytes.subarray(2, 9));
  expect(() => codec.decode(cut, 0, cut.length)).toThrow("expected Float64Array, received Uint8Array");
});

describe("what a sender takes, the receiver gets", async () => {
  const samples = CASES.map(([, source]) => ({ source, valid: fc.constant(undefined), lossy: false }));
  const compiled = await compileSamples(workspace, "values.service.ts", samples);
  for (const [index, [name, source, value, expected]] of CASES.entries()) {
    const { schema, codec } = compiled[index] ?? expect.unreachable();
    const viaSession: Readonly<Record<string, (value: unknown) => unknown>> = {
      MessagePack(given) {
        const bytes = encode(codec, given);
        return codec.decode(bytes, 0, bytes.length);
      },
      JSON(given) {
        const bytes = encode(json, codec.plain?.encode(given));
        return codec.plain?.decode(json.decode(bytes, 0, bytes.length));
      },
    };
    test.each(Object.keys(viaSession))(`${name}: ${source} by %s`, (by) => {
      let received: unknown;
      try {
        received = viaSession[by]?.(value);
      } catch (error) {
        // A refusal at the sender is as right.
        expect(String(error)).toMatch(/(?:cannot be sent: |TypeError: )(?:Error|Map|Float64Array) at \//);
        return;
      }
      expect(same(received, expected ?? schema.parse(value))).toBe(true);
    });
  }
});

/** Schemas, with values that have a key `secret`, which they do not declare. */
const UNDECLARED: readonly (readonly [source: string, value: unknown])[] = [
  ["z.object({ a: z.int() })", { a: 1, secret: 1 }],
  ["z.xor([z.object({ a: z.int() }), z.object({ b: z.string() })])", { b: "b", secret: 1 }],
  ["z.array(z.xor([z.object({ a: z.int() }).refine(() => true), z.int()]))", [{ a: 1, secret: 1 }, 2]],
  ["z.object({ a: z.int() }).catch({ a: 0 })", { a: "no", secret: 1 }],
  [
    "z.array(z.object({ a: z.int() })).catch([])",
    [
      { a: 1, secret: 1 },
      { a: "no", secret: 1 },
    ],
  ],
  [
    "z.tuple([z.object({ a: z.int() })], z.object({ a: z.int() }).readonly())",
    [
      { a: 1, secret: 1 },
      { a: 2, secret: 1 },
    ],
  ],
  ["z.object({}).catchall(z.object({ a: z.int() }))", { x: { a: 1, secret: 1 } }],
  ["z.union([z.object({ a: z.int() }), z.object({ b: z.date() }), z.date()])", { b: new Date(0), secret: 1 }],
  ["z.intersection(z.object({ a: z.int() }), z.object({ b: z.int() }))", { a: 1, b: 2, secret: 1 }],
  ["z.object({ a: z.int() }).transform(({ a }) => ({ b: a }))", { a: 1, secret: 1 }],
  ["z.codec(z.object({ a: z.int() }), z.int(), { decode: ({ a }) => a, encode: (a) => ({ a }) })", { a: 1, secret: 1 }],
  [
    "z.object({ r: z.record(z.string(), z.int().optional()), o: z.object({ a: z.int() }).refine(() => true) })",
    { r: { x: undefined }, o: { a: 1, secret: 1 } },
  ],
  ["z.object({ a: z.int().prefault(1), o: z.object({ b: z.int() }).default({ b: 2 }) })", { o: { b: 1, secret: 1 } }],
];

describe("keys that the schema does not declare stay at the sender", async () => {
  const samples = UNDECLARED.map(([source]) => ({ source, valid: fc.constant(undefined), lossy: false }));
  const compiled = await compileSamples(workspace, "undeclared.service.ts", samples);
  test.each(UNDECLARED.map(([source, value], index) => [source, value, index] as const))("%s", (_, value, index) => {
    const { schema, codec } = compiled[index] ?? expect.unreachable();
    const given = structuredClone(value);
    const parsed = schema.parse(value);
    const bytes = encode(codec, value);
    expect(codec.decode(bytes, 0, bytes.length)).toEqual(parsed);
    const marked = encode(json, codec.plain?.encode(value));
    expect(codec.plain?.decode(json.decode(marked, 0, marked.length))).toEqual(parsed);
    const plain = jsonCodecOf(codec).write(value);
    expect(jsonCodecOf(codec).read(plain)).toEqual(parsed);
    for (const sent of [bytes, marked]) expect(Buffer.from(sent).toString("latin1")).not.toContain("secret");
    expect(plain).not.toContain("secret");
    expect(value).toEqual(given);
  });
});
