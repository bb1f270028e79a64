// What a schema's author wrote is what callers are told: the messages of generated codecs are those of zod.
import type { RpcError } from "@quicrpc/core";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { pack } from "../../../core/src/msgpack/pack.js";
import { createWorkspace } from "../workspace.js";
import { type CompiledSample, compileSamples, encode } from "./compile.js";
import type { SchemaSample } from "./schemas.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

interface Case {
  readonly source: string;
  readonly bad: unknown;
}

/** Each schema with a value whose issues have messages of the author's only. */
const CASES: readonly Case[] = [
  { source: `z.string().min(3, "three at least").max(5, { message: "five at most" })`, bad: "ab" },
  { source: `z.string().min(3, "three at least").max(5, { message: "five at most" })`, bad: "abcdef" },
  { source: `z.string("a text, please").min(3)`, bad: 7 },
  { source: `z.string({ error: (issue) => "not " + typeof issue.input })`, bad: 7 },
  { source: `z.number().min(3, { error: (issue) => issue.minimum + " at least, not " + issue.input })`, bad: 1 },
  { source: `z.int("whole").lt(10, "below ten")`, bad: 1.5 },
  { source: `z.int("whole").lt(10, "below ten")`, bad: 10 },
  { source: `z.bigint("big").min(5n, "five")`, bad: 1n },
  { source: `z.boolean("yes or no")`, bad: null },
  { source: `z.date("a date").min(new Date(10), "later")`, bad: new Date(1) },
  { source: `z.email("an address")`, bad: "nobody" },
  { source: "z.url()", bad: "nowhere" },
  { source: `z.url({ error: "a URL" })`, bad: "nowhere" },
  {
    source: `z.string().regex(/^a/, "begins with a").endsWith("z", "ends with z").includes("m", "has an m")`,
    bad: "bcd",
  },
  { source: `z.enum(["a", "b"], "a or b")`, bad: "c" },
  { source: `z.literal(1, "one")`, bad: 2 },
  { source: `z.nan("not a number")`, bad: 2 },
  { source: `z.object({ a: z.string("a") }, "an object")`, bad: "x" },
  { source: `z.object({ a: z.object({ b: z.string().min(2, "two") }) })`, bad: { a: { b: "" } } },
  {
    source: `z.strictObject({ a: z.string() }, { error: (issue) => issue.code === "unrecognized_keys" ? "no other keys" : undefined })`,
    bad: { a: "", b: 1 },
  },
  { source: `z.array(z.int(), "a list").max(1, "one at most")`, bad: [1, 2] },
  { source: `z.array(z.int("whole"), "a list")`, bad: [1.5] },
  { source: `z.set(z.int()).max(1, "one")`, bad: new Set([1, 2]) },
  { source: `z.map(z.string(), z.int()).min(1, "one")`, bad: new Map() },
  { source: `z.record(z.string(), z.int("whole"), "a record")`, bad: { a: 0.5 } },
  { source: `z.tuple([z.int("whole"), z.string()], "a pair")`, bad: [0.5, ""] },
  { source: `z.union([z.string(), z.boolean()], "text or not")`, bad: 1 },
  { source: `z.discriminatedUnion("k", [z.object({ k: z.literal("a") })], "of a kind")`, bad: { k: "b" } },
  { source: `z.string().refine((text) => text !== "no", "anything but no")`, bad: "no" },
  { source: `z.string().min(2, "two").refine((text) => text !== "n", { error: () => "not n" })`, bad: "n" },
  { source: `z.set(z.int(), "a set")`, bad: 5 },
  { source: `z.instanceof(Uint8Array, { error: "bytes" })`, bad: "x" },
  { source: `z.never("nothing")`, bad: 1 },
  { source: `z.undefined("nothing")`, bad: 1 },
  { source: `z.void("nothing")`, bad: 1 },
  { source: `z.object({ a: z.string().optional().nonoptional("needed") })`, bad: {} },
  { source: `z.record(z.string().max(1), z.int(), "a record")`, bad: { bb: 1 } },
  { source: `z.int().optional().default(3)`, bad: undefined },
  { source: `z.object({ a: z.string("a text").optional(), b: z.int("whole").nullable() })`, bad: { a: 1, b: "x" } },
];

/** Schemas without messages of their own, each with values that do not fit. */
const WORDLESS: readonly { readonly source: string; readonly bad: readonly unknown[] }[] = [
  { source: "z.string().min(3).max(5)", bad: ["ab", "abcdef", 7, null, undefined, [], { a: 1 }] },
  { source: "z.string().length(2)", bad: ["a", "abc"] },
  { source: `z.string().regex(/^a/).endsWith("z").includes("m").startsWith("b")`, bad: ["cd"] },
  { source: "z.email()", bad: ["nobody"] },
  { source: "z.uuid()", bad: ["nothing"] },
  { source: "z.url()", bad: ["nowhere"] },
  { source: "z.number().min(3).max(5).multipleOf(0.5)", bad: [2.75, 6, Number.NaN, "x"] },
  { source: "z.number().gt(3).lt(5)", bad: [3, 5] },
  { source: "z.int()", bad: [1.5, 2 ** 60, -(2 ** 60)] },
  { source: "z.bigint().min(5n)", bad: [1n] },
  { source: "z.date().min(new Date(10)).max(new Date(20))", bad: [new Date(1), new Date(30), "x"] },
  { source: `z.enum(["a", "b"])`, bad: ["c"] },
  { source: "z.literal(1)", bad: [2] },
  { source: "z.nan()", bad: [2, "NaN", null, new Date(Number.NaN)] },
  { source: "z.object({ a: z.object({ b: z.int() }), c: z.string() })", bad: [{ a: { b: "" } }, { a: 1 }, 3] },
  {
    source: "z.strictObject({ a: z.string() })",
    bad: [
      { a: "", b: 1 },
      { a: "", b: 1, c: 2 },
    ],
  },
  { source: "z.array(z.int()).min(1).max(1)", bad: [[1, 2], [], ["x"]] },
  { source: "z.tuple([z.int(), z.string()])", bad: [[1], [1, "", 2]] },
  { source: "z.set(z.int()).max(1)", bad: [new Set([1, 2]), 4] },
  { source: "z.map(z.string(), z.int()).min(1)", bad: [new Map(), new Map([["a", "b"]])] },
  { source: "z.record(z.string(), z.int())", bad: [{ a: "b" }, 5] },
  { source: "z.union([z.string(), z.boolean()])", bad: [1] },
  {
    source: `z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.object({ k: z.literal("b") })])`,
    bad: [{ k: "c" }],
  },
];

const sampleOf = (source: string): SchemaSample => ({ source, valid: fc.constant(undefined), lossy: false });

let samples: CompiledSample[];
let wordless: CompiledSample[];

function sampleAt(index: number, among: readonly CompiledSample[] = samples): CompiledSample {
  const sample = among.at(index);
  if (sample === undefined) throw new Error(`there is no sample ${index}`);
  return sample;
}

beforeAll(async () => {
  samples = await compileSamples(
    workspace,
    "messages/one.service.ts",
    CASES.map(({ source }) => sampleOf(source)),
  );
  wordless = await compileSamples(
    workspace,
    "wordless/one.service.ts",
    WORDLESS.map(({ source }) => sampleOf(source)),
  );
});

afterEach(() => {
  z.config({ ...z.locales.en(), customError: undefined });
});

type Detail = { readonly message: string };
const refusal = (run: () => unknown): string[] => {
  try {
    run();
  } catch (error) {
    return ((error as RpcError).details as Detail[]).map(({ message }) => message);
  }
  return [];
};

describe.each(CASES.map((each, index) => ({ ...each, index })))("$source", ({ bad, index }) => {
  test("the sender and the receiver are told what zod tells", () => {
    const { schema, codec } = sampleAt(index);
    const expected = (schema.safeParse(bad).error?.issues ?? []).map(({ message }) => message);
    expect(refusal(() => encode(codec, bad))).toEqual(expected);
    if (expected.length === 0) return;
    const bytes = pack(bad instanceof Set ? [...(bad as Set<unknown>)] : bad);
    expect(refusal(() => codec.decode(bytes, 0, bytes.length))).toEqual(expected);
  });
});

const LANGUAGES = { German: z.locales.de, French: z.locales.fr, Japanese: z.locales.ja };

describe.each(Object.entries(LANGUAGES))("in %s", (_name, locale) => {
  test.each(WORDLESS.map((each, index) => ({ ...each, index })))("$source", ({ bad, index }) => {
    const { schema, codec } = sampleAt(index, wordless);
    z.config(locale());
    for (const value of bad) {
      const expected = (schema.safeParse(value).error?.issues ?? []).map(({ message }) => message);
      expect(expected).not.toEqual([]);
      expect(refusal(() => encode(codec, value))).toEqual([...new Set(expected)]);
    }
  });
});

test("a receiver says it in the language of z.config", () => {
  const { codec, schema } = sampleAt(
    WORDLESS.findIndex(({ source }) => source.startsWith("z.object")),
    wordless,
  );
  z.config(z.locales.de());
  const bad = { a: 1, c: { d: 1 } };
  const bytes = pack(bad);
  const expected = (schema.safeParse(bad).error?.issues ?? []).map(({ message }) => message);
  expect(refusal(() => codec.decode(bytes, 0, bytes.length))).toEqual(expected);
});

test("an application's customError comes after the author's message and before the language", () => {
  z.config({
    ...z.locales.de(),
    customError: ({ code, minimum }) => (code === "too_small" ? `at least ${minimum}` : undefined),
  });
  const { codec } = sampleAt(0, wordless);
  expect(refusal(() => encode(codec, "ab"))).toEqual(["at least 3"]);
  expect(refusal(() => encode(codec, 7))).toEqual(["Ungültige Eingabe: erwartet string, erhalten Zahl"]);
  expect(refusal(() => encode(sampleAt(0).codec, "ab"))).toEqual(["three at least"]);
});

test("words of the application that fail leave the codec its own", () => {
  z.config({
    customError: () => {
      throw new Error("no words");
    },
  });
  expect(refusal(() => encode(sampleAt(0, wordless).codec, 7))).toEqual(["expected string, received number"]);
});

test("a message of any length is cut", async () => {
  const long = await compileSamples(workspace, "long/one.service.ts", [
    sampleOf(`z.string().max(1, "long ".repeat(10_000))`),
  ]);
  expect(refusal(() => encode(sampleAt(0, long).codec, "abc"))[0]?.length).toBe(300);
});
