import { json, type SessionCodec } from "@quicrpc/core";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { createWorkspace } from "../workspace.js";
import { compileSamples, encode } from "./compile.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

/** The type of `v` follows from `k`. */
const MIXED = `z.intersection(
  z.union([z.object({ k: z.literal("a"), v: z.bigint() }), z.object({ k: z.literal("b"), v: z.map(z.string(), z.int()) })]),
  z.object({ x: z.int() }),
)`;

const cases: readonly (readonly [source: string, value: unknown])[] = [
  ["z.object({ a: z.any(), b: z.unknown() })", { a: undefined, b: undefined }],
  ["z.object({ a: z.any() })", { a: { b: undefined, c: 1 } }],
  ["z.strictObject({ a: z.any(), c: z.string().optional() })", { a: undefined, c: undefined }],
  ["z.array(z.object({ inside: z.object({ a: z.unknown().nullable() }) }))", [{ inside: { a: undefined } }]],
  ["z.union([z.string(), z.object({ a: z.any() })])", { a: undefined }],
  ["z.object({ a: z.any().refine(() => true) })", { a: undefined }],
  ["z.looseObject({ a: z.any() })", { a: undefined, more: 1 }],
  ["z.union([z.bigint().nullable(), z.number()])", 7n],
  ["z.union([z.bigint(), z.any()])", 7n],
  ["z.record(z.string(), z.any())", { a: 1 }],
  ["z.map(z.object({ a: z.int() }), z.string())", new Map([[{ a: 1 }, "b"]])],
  ["z.object({ a: z.any() })", { a: new Map([[{ b: 1 }, new Map([[[1], "c"]])]]) }],
  // Schemas that zod runs whole: the wire has a bigint as an integer, and zod is given a bigint all the same.
  ["z.xor([z.literal(7n), z.string()])", 7n],
  ["z.preprocess((value) => value, z.literal(7n))", 7n],
  ["z.looseRecord(z.string(), z.literal(7n))", { x: 7n }],
  ["z.codec(z.literal(7n), z.any(), { decode: (value) => value, encode: (value) => value as never })", 7n],
  [`z.preprocess((value) => value, ${MIXED})`, { k: "a", v: 5n, x: 1 }],
  [`z.preprocess((value) => value, ${MIXED})`, { k: "b", v: new Map([["c", 2]]), x: 1 }],
  [
    "z.any()",
    new Map<unknown, unknown>([
      ["a", 1],
      [{ b: 1 }, 2],
    ]),
  ],
];

function viaSession(codec: SessionCodec, value: unknown): unknown {
  const bytes = encode(codec, value);
  return codec.decode(bytes, 0, bytes.length);
}

test("what a sender accepts its receiver accepts", async () => {
  const samples = cases.map(([source]) => ({ source, valid: fc.constant(undefined), lossy: false }));
  for (const [i, { codec, source }] of (await compileSamples(workspace, "accepted.service.ts", samples)).entries()) {
    const value = cases[i]?.[1];
    const bytes = encode(codec, value);
    expect({ source, value: codec.decode(bytes, 0, bytes.length) }).toEqual({ source, value });
    expect({ source, value: codec.plain?.decode(viaSession(json, codec.plain.encode(value))) }).toEqual({
      source,
      value,
    });
  }
});

test("z.success gets the value that was sent", async () => {
  const source = "z.success(z.map(z.string(), z.bigint()))";
  const [sample] = await compileSamples(workspace, "success.service.ts", [
    { source, valid: fc.constant(undefined), lossy: false },
  ]);
  expect(viaSession(sample?.codec as SessionCodec, new Map([["a", 1n]]))).toBe(true);
});
