import { type MessageCodec, uncheckedCodec, zodCodec } from "@quicrpc/core/generated";
import { RpcError } from "@quicrpc/core";
import { decodeWithin } from "@quicrpc/core/internal";
import { jsonCodecOf } from "@quicrpc/http";
import fc from "fast-check";
import { Packr } from "msgpackr";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { colliding, MANY } from "../../../core/test/colliding.js";
import { createWorkspace } from "../workspace.js";
import { compileSamples, encode } from "./compile.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

/** Writes what is too deep as well. */
const packr = new Packr({ useRecords: false });
const COUNT = 100_000;
const plainSample = (source: string) => ({ source, valid: fc.constant(undefined), lossy: false });
const pack = (value: unknown): Uint8Array => encode(uncheckedCodec(), value);
const times = <T>(item: (i: number) => T): T[] => Array.from({ length: COUNT }, (_, i) => item(i));

interface Taken {
  readonly value: unknown;
  /** Bytes that the value is estimated to take. */
  readonly held: number;
}

/** Decodes a message within a budget that has room for `room` bytes; its time is limited by `max`. */
function takeWithin(room: number, codec: MessageCodec<unknown>, bytes: Uint8Array, max = Infinity): Taken {
  const refusal = (): RpcError => new RpcError("resource_exhausted", "no room");
  const budget = { max, room, decodedBytes: 0, refusal };
  const value = decodeWithin(budget, codec, bytes, 0, bytes.length);
  return { value, held: budget.decodedBytes };
}

function refusal(run: () => unknown): RpcError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(RpcError);
    return error as RpcError;
  }
  throw new Error("it was taken");
}

/** Checks that an error stays small, whatever was wrong. */
function checkSmall(error: RpcError): void {
  const details = error.details as readonly unknown[] | undefined;
  if (error.code === "invalid_argument") expect(details?.length ?? 0).toBeLessThanOrEqual(20);
  expect(JSON.stringify([error.message, details]).length).toBeLessThan(20_000);
}

const wrong: readonly (readonly [source: string, value: () => unknown])[] = [
  ["z.array(z.string())", () => times(() => 1)],
  ["z.array(z.object({ a: z.string(), b: z.string() }))", () => times(() => ({}))],
  ["z.array(z.array(z.string().min(2)))", () => times(() => ["a"])],
  ["z.array(z.union([z.string(), z.array(z.string())]))", () => times(() => 1)],
  ["z.array(z.union([z.string(), z.array(z.string())]))", () => [times(() => 1)]],
  ["z.array(z.strictObject({ a: z.string().optional() }))", () => times(() => ({ b: 1 }))],
  ["z.array(z.string().refine(() => false))", () => times(() => "a")],
  ["z.array(z.string()).transform((all) => all.length)", () => times(() => 1)],
  ["z.tuple([z.string()], z.string())", () => times(() => 1)],
  ["z.set(z.string())", () => times((i) => i)],
  ["z.map(z.string(), z.string())", () => new Map(times((i) => [i, i] as const))],
  ["z.record(z.string(), z.string())", () => Object.fromEntries(times((i) => [`k${i}`, i]))],
  ["z.record(z.string().max(1), z.string())", () => Object.fromEntries(times((i) => [`k${i}`, i]))],
  ["z.record(z.enum(['x', 'y']), z.string())", () => Object.fromEntries(times((i) => [`k${i}`, i]))],
  ["z.strictObject({})", () => Object.fromEntries(times((i) => [`k${i}`, i]))],
  ["z.object({}).catchall(z.string())", () => Object.fromEntries(times((i) => [`k${i}`, i]))],
  ["z.intersection(z.array(z.string()), z.array(z.string()))", () => times(() => 1)],
  ["z.object({ a: z.record(z.string(), z.string()) })", () => ({ a: { ["k".repeat(1_000_000)]: 1 } })],
  ["z.strictObject({})", () => ({ ["k".repeat(1_000_000)]: 1 })],
  ["z.codec(z.array(z.string()), z.string(), { decode: (x) => x.join(), encode: (x) => [x] })", () => times(() => 1)],
  ["z.array(z.string()).catch(() => { throw new Error('none'); })", () => times(() => 1)],
  ["z.xor([z.array(z.string()), z.array(z.boolean())])", () => times(() => 1)],
  ["z.any().superRefine((_, { addIssue }) => { for (let i = 0; i < 1e5; i++) addIssue('no'); })", () => 1],
];

describe("a message that does not fit anywhere", () => {
  const samples = compileSamples(
    workspace,
    "wrong.service.ts",
    wrong.map(([source]) => plainSample(source)),
  );

  test.each(wrong.map(([source, value], i) => [source, value, i] as const))("%s", async (_, value, i) => {
    const codec = (await samples)[i]?.codec;
    if (codec === undefined) throw new Error("no codec");
    const bytes = pack(value());
    checkSmall(refusal(() => codec.decode(bytes, 0, bytes.length)));
    checkSmall(refusal(() => encode(codec, value())));
    checkSmall(refusal(() => codec.plain?.decode(value())));
  });

  test("the rest of it is not looked at", async () => {
    const source =
      "z.array(z.number().refine(() => { const seen = globalThis as { seen?: number }; seen.seen = (seen.seen ?? 0) + 1; return false; }))";
    const [sample] = await compileSamples(workspace, "seen.service.ts", [plainSample(source)]);
    const bytes = pack(times((i) => i));
    refusal(() => sample?.codec.decode(bytes, 0, bytes.length));
    expect((globalThis as { seen?: number }).seen).toBeLessThan(100);
  });
});

test("keys that one side of an intersection refuses are taken where the other has them, however many", async () => {
  const side = (letter: string): string => `z.record(z.string().regex(/^${letter}/), z.int())`;
  const [sample] = await compileSamples(workspace, "sides.service.ts", [
    plainSample(`z.intersection(${side("a")}, ${side("b")})`),
  ]);
  if (sample === undefined) throw new Error("no sample");
  const keys = Array.from({ length: 50 }, (_, i) => `${"ab".charAt(i % 2)}${i}`);
  const value = Object.fromEntries(keys.map((key, i) => [key, i]));
  const bytes = pack(value);
  expect(sample.codec.decode(bytes, 0, bytes.length)).toEqual(value);
  const wrongElement = pack({ ...value, b49: "text" });
  expect(refusal(() => sample.codec.decode(wrongElement, 0, wrongElement.length)).details).toEqual([
    expect.objectContaining({ path: ["b49"], code: "invalid_type" }),
  ]);
  const wrongKey = pack({ ...value, c: 1 });
  expect(refusal(() => sample.codec.decode(wrongKey, 0, wrongKey.length)).message).toContain("at c");
});

test("a set or map that its elements' checks make smaller is as large as it was sent", async () => {
  const sources = ["z.set(z.string().toUpperCase()).max(1)", "z.map(z.string().toUpperCase(), z.int()).size(1)"];
  const [set, map] = await compileSamples(workspace, "merged.service.ts", sources.map(plainSample));
  const decode = (codec: typeof set, value: unknown): unknown => {
    const bytes = pack(value);
    return codec?.codec.decode(bytes, 0, bytes.length);
  };
  expect(refusal(() => decode(set, ["a", "A"])).details).toMatchObject([{ code: "too_big" }]);
  expect(refusal(() => decode(map, { a: 1, A: 2 })).details).toMatchObject([{ code: "too_big" }]);
  expect(decode(set, ["a", "a"])).toEqual(new Set(["A"]));
  expect(decode(map, { a: 1 })).toEqual(new Map([["A", 1]]));
});

describe("text of template literals with several parts of any length", () => {
  const parts = 'z.string(), "-", z.string(), "-", z.string(), "-", z.string(), "!"';
  const dashes = "-".repeat(1_000_000);
  const cases: readonly (readonly [source: string, of: (text: string) => unknown])[] = [
    [`z.templateLiteral([${parts}])`, (text) => text],
    [`z.object({ a: z.templateLiteral([${parts}]).nullable() })`, (a) => ({ a })],
    [`z.object({ a: z.templateLiteral([${parts}]), b: z.string().optional() }).loose()`, (a) => ({ a })],
    [`z.map(z.templateLiteral([${parts}]), z.int())`, (text) => new Map([[text, 1]])],
    [`z.record(z.templateLiteral([${parts}]), z.int())`, (text) => ({ [text]: 1 })],
    [`z.array(z.templateLiteral([${parts}]).transform((text) => text.length).or(z.int()))`, (text) => [text]],
    [`z.preprocess((text) => text, z.templateLiteral([${parts}]))`, (text) => text],
  ];
  const samples = compileSamples(
    workspace,
    "templates.service.ts",
    cases.map(([source]) => plainSample(source)),
  );

  test.each(cases.map((each, i) => [...each, i] as const))(
    "is not matched if it is long by %s",
    async (_source, of, i) => {
      const codec = (await samples)[i]?.codec;
      const decode = (value: unknown): unknown => {
        const bytes = pack(value);
        return codec?.decode(bytes, 0, bytes.length);
      };
      expect(refusal(() => decode(of(dashes))).code).toBe("invalid_argument");
      expect(refusal(() => decode(of(`${dashes.slice(0, 256)}!`))).code).toBe("invalid_argument");
      expect(() => decode(of(`${dashes.slice(0, 255)}!`))).not.toThrow();
    },
  );

  test("is matched whatever its length if that takes linear time", async () => {
    const sources = [
      'z.templateLiteral([z.string(), "-", z.string(), "-", z.string()])',
      'z.templateLiteral(["data:", z.string(), ";base64,", z.base64()])',
      'z.templateLiteral([z.string(), "-", z.string().max(8), "-", z.string().max(8), "!"])',
    ];
    const texts = [dashes, `data:a;base64,${"A".repeat(1_000_000)}`, `${dashes}!`];
    for (const [i, { codec }] of (
      await compileSamples(workspace, "cheap.service.ts", sources.map(plainSample))
    ).entries()) {
      const bytes = pack(texts[i]);
      expect(codec.decode(bytes, 0, bytes.length)).toBe(texts[i]);
    }
  });
});

describe("the time that a message takes to validate", () => {
  /** With the default of `maxSessionBytes`. */
  const MOST = 2 ** 25;
  const optionsOf = (count: number, option: (i: number) => string): string =>
    `z.union([${Array.from({ length: count }, (_, i) => option(i)).join(", ")}])`;
  const rows = (count: number, row: (i: number) => unknown): unknown[] =>
    Array.from({ length: count }, (_, i) => row(i));
  const byKey = `z.array(${optionsOf(40, (i) => `z.object({ k${i}: z.int() })`)})`;
  const byLiteral = `z.array(${optionsOf(10, (i) => `z.object({ a: z.int(), kind: z.literal("k${i}") })`)})`;
  const lists = optionsOf(10, (i) => `z.object({ list: z.array(z.int()), k${i}: z.int() })`);
  const row = "z.object({ id: z.int(), name: z.string(), email: z.email(), url: z.url() })";
  const recursive = "z.array(Nested)";
  const declarations = `
    export const Nested: z.ZodType = z.intersection(
      z.object({ get a() { return Nested.optional(); } }), z.object({ b: z.int() }));`;
  const person = (id: number): unknown => ({
    id,
    name: `name ${id}`,
    email: `p${id}@example.com`,
    url: "https://a.bc",
  });
  let nested: unknown = { b: 1 };
  for (let i = 0; i < 30; i++) nested = { a: nested, b: 1 };

  const cases: readonly (readonly [source: string, taken: unknown, refused: unknown])[] = [
    [byKey, rows(3_000, () => ({ k39: 1 })), rows(5_000, () => ({ k39: 1 }))],
    [byLiteral, rows(50_000, (i) => ({ a: 1, kind: `k${i % 10}` })), undefined],
    [lists, { list: rows(10_000, () => 1), k9: 1 }, { list: rows(300_000, () => 1), k9: 1 }],
    [`z.array(${row})`, rows(50_000, person), undefined],
    ["z.array(z.url())", rows(100_000, () => "http://a.b"), rows(150_000, () => "http://a.b")],
    ["z.array(z.cidrv6())", rows(100_000, () => "::1/1"), rows(150_000, () => "::1/1")],
    ["z.array(z.base64())", rows(150_000, () => "aaaa"), rows(250_000, () => "aaaa")],
    ["z.array(z.string().transform((text) => text))", rows(300_000, () => "a"), rows(400_000, () => "a")],
    ["z.array(z.int().refine(() => true))", rows(200_000, () => 1), rows(300_000, () => 1)],
    [recursive, rows(1_000, () => nested), rows(5_000, () => nested)],
  ];
  const samples = compileSamples(
    workspace,
    "steps.service.ts",
    cases.map(([source]) => plainSample(source)),
    true,
    declarations,
  );

  test.each(cases.map((each, i) => [...each, i] as const))("is limited in %s", async (_source, taken, refused, i) => {
    const codec = (await samples)[i]?.codec ?? expect.unreachable();
    expect(takeWithin(MOST, codec, pack(taken), MOST).value).toEqual(taken);
    if (refused === undefined) return;
    const bytes = pack(refused);
    const tooLong = { code: "resource_exhausted", message: expect.stringContaining("takes too long to validate") };
    expect(refusal(() => takeWithin(MOST, codec, bytes, MOST))).toMatchObject(tooLong);
    // Without the limit, and outside of messages, it is taken.
    expect(() => takeWithin(MOST, codec, bytes)).not.toThrow();
    expect(() => codec.decode(bytes, 0, bytes.length)).not.toThrow();
  });

  test("includes that of finding out why it does not match", async () => {
    const codec = (await samples)[0]?.codec ?? expect.unreachable();
    const withLast = (count: number): Uint8Array => pack([...rows(count, () => ({ k39: 1 })), { none: 1 }]);
    expect(refusal(() => takeWithin(MOST, codec, withLast(2_500), MOST)).code).toBe("resource_exhausted");
    expect(refusal(() => takeWithin(MOST, codec, withLast(500), MOST)).code).toBe("invalid_argument");
  });

  test("is that of one option in a union whose options have different texts", async () => {
    const codec = (await samples)[1]?.codec ?? expect.unreachable();
    const bytes = pack([...rows(20_000, () => ({ a: 1, kind: "k9" })), { a: "", kind: "k9" }]);
    expect(refusal(() => takeWithin(MOST, codec, bytes, MOST)).details).toMatchObject([
      { path: [20_000], code: "invalid_union" },
    ]);
  });
});

test("an enum of many values takes each of them, and nothing else", async () => {
  const values = Array.from({ length: 300 }, (_, i) => `value ${i}`);
  const sources = [`z.array(z.enum(${JSON.stringify(values)}).nullable())`, `z.literal(${JSON.stringify(values)})`];
  const [list, one] = await compileSamples(workspace, "enums.service.ts", sources.map(plainSample));
  if (list === undefined || one === undefined) throw new Error("no sample");
  const all = pack([...values, null]);
  expect(list.codec.decode(all, 0, all.length)).toEqual([...values, null]);
  expect(encode(list.codec, [...values, null])).toEqual(all);
  const wrong = pack([...values, "value"]);
  expect(refusal(() => list.codec.decode(wrong, 0, wrong.length))).toMatchObject({ code: "invalid_argument" });
  expect(refusal(() => encode(list.codec, ["value"])).code).toBe("invalid_argument");
  const last = pack("value 299");
  expect(one.codec.decode(last, 0, last.length)).toBe("value 299");
});

describe("numbers of one hash", () => {
  const { integers, bigints } = colliding;
  const withBig = (keys: readonly bigint[]): bigint[] => keys.map((key) => BigInt.asIntN(64, key));
  const cases: readonly (readonly [source: string, refused: unknown, taken: unknown])[] = [
    ["z.set(z.int())", integers(MANY), times((i) => i)],
    ["z.set(z.number().nullable())", integers(MANY), times((i) => i)],
    ["z.set(z.int().refine(() => true))", integers(MANY), times((i) => i)],
    ["z.set(z.union([z.int(), z.string()]))", integers(MANY), times((i) => i)],
    ["z.set(z.any())", integers(MANY), times((i) => i)],
    ["z.set(z.coerce.number())", integers(MANY).map(String), times(String)],
    ["z.set(z.bigint())", withBig(bigints(MANY)), times((i) => BigInt(i))],
    ["z.map(z.int(), z.boolean())", new Map(integers(MANY).map((i) => [i, true])), new Map(times((i) => [i, true]))],
    ["z.map(z.int(), z.int()).optional()", new Map(integers(MANY).map((i) => [i, 1])), new Map(times((i) => [i, 1]))],
  ];
  const samples = compileSamples(
    workspace,
    "hashes.service.ts",
    cases.map(([source]) => plainSample(source)),
  );

  test.each(cases.map((each, i) => [...each, i] as const))(
    "are refused in %s, and others are not",
    async (_source, refused, taken, i) => {
      const codec = (await samples)[i]?.codec;
      const decode = (value: unknown): unknown => {
        const bytes = pack(value);
        return codec?.decode(bytes, 0, bytes.length);
      };
      expect(refusal(() => decode(refused))).toMatchObject({
        code: "invalid_argument",
        message: expect.stringContaining("too many numbers of one hash"),
      });
      expect(decode(taken)).toHaveProperty("size", COUNT);
    },
  );
});

describe("a value inside many of its kind takes as long as it is large", () => {
  const LEVELS = 90;
  const nested = (level: (inner: unknown) => unknown, last: unknown): unknown => {
    let value = last;
    for (let i = 0; i < LEVELS; i++) value = level(value);
    return value;
  };

  test("in a union without discriminator, and in an intersection", async () => {
    const declarations = `
      const option = (kind: string) => z.object({ get child() { return Either.optional(); }, kind: z.literal(kind) });
      export const Either: z.ZodType = z.lazy(() => z.union([option("a"), option("b")]));
      export const Both: z.ZodType = z.lazy(() => z.intersection(
        z.looseObject({ get child() { return Both.optional(); } }),
        z.looseObject({ get child() { return Both.optional(); }, kind: z.string() }),
      ));`;
    const sources = ["Either", "Both"].map(plainSample);
    const samples = await compileSamples(workspace, "recursion.service.ts", sources, true, declarations);
    for (const { codec } of samples) {
      const good = pack(nested((child) => ({ child, kind: "b" }), { kind: "b" }));
      expect(codec.decode(good, 0, good.length)).toMatchObject({ child: { child: { kind: "b" } } });
      const bad = pack(nested((child) => ({ child, kind: "b" }), { kind: 1 }));
      checkSmall(refusal(() => codec.decode(bad, 0, bad.length)));
    }
  });

  test("what is remembered of it counts as the values of a message do, while it is remembered", async () => {
    const declarations = `
      export const Lists: z.ZodType = z.lazy(() => z.union([z.tuple([z.string()]), z.array(Lists)]));`;
    const lists = [plainSample("Lists")];
    const [sample] = await compileSamples(workspace, "remembered.service.ts", lists, true, declarations);
    if (sample === undefined) throw new Error("no sample");
    const take = (value: unknown, most: number): Taken => takeWithin(most, sample.codec, pack(value));
    // 32 bytes for each list, as many for its place, 64 for the result of a small one, and more for what is remembered of others.
    const small = times(() => []);
    expect(refusal(() => take(small, COUNT * 70)).code).toBe("resource_exhausted");
    const { value, held } = take(small, COUNT * 140);
    expect(value).toEqual(small);
    expect(held).toBeLessThan(COUNT * 70);
    const large = times(() => [[]]);
    expect(refusal(() => take(large, COUNT * 140)).code).toBe("resource_exhausted");
    const taken = take(large, COUNT * 460);
    expect(taken.value).toEqual(large);
    expect(taken.held).toBeLessThan(COUNT * 140);
  });

  test("objects of known fields inside one another count as the memory that they take", async () => {
    const declarations = "export const Chain = z.object({ get a() { return Chain.nullable(); } });";
    const [sample] = await compileSamples(
      workspace,
      "chains.service.ts",
      [plainSample("z.array(Chain)")],
      true,
      declarations,
    );
    if (sample === undefined) throw new Error("no sample");
    const count = COUNT / 100;
    const chain = nested((a) => ({ a }), { a: null });
    const bytes = pack(times(() => chain).slice(0, count));
    // Three bytes each, and 32 in memory.
    const take = (most: number): Taken => takeWithin(most, sample.codec, bytes);
    expect(refusal(() => take(count * LEVELS * 12)).code).toBe("resource_exhausted");
    const taken = take(count * LEVELS * 60);
    expect(taken.value).toHaveLength(count);
    expect(taken.held).toBeGreaterThan(count * LEVELS * 20);
  });

  test("with keys in another order, or unknown ones", async () => {
    const declarations = "export const Node = z.object({ get child() { return Node.optional(); }, kind: z.string() });";
    const [sample] = await compileSamples(workspace, "order.service.ts", [plainSample("Node")], true, declarations);
    const bytes = pack(nested((child) => ({ child, more: 1, kind: "a" }), { kind: "a" }));
    expect(sample?.codec.decode(bytes, 0, bytes.length)).toMatchObject({ child: { child: { kind: "a" } } });
    const wrongAtEnd = pack(nested((child) => ({ child, more: 1, kind: "a" }), { kind: 1 }));
    checkSmall(refusal(() => sample?.codec.decode(wrongAtEnd, 0, wrongAtEnd.length)));
  });
});

describe("a message is nested 100 levels deep at most", () => {
  const declarations = `
    export const Tree = z.object({ get child() { return Tree.optional(); }, any: z.any().optional() });
    export const List: z.ZodType = z.array(z.lazy(() => List));
    export const Sets: z.ZodType = z.set(z.lazy(() => Sets));
    export const Maps: z.ZodType = z.map(z.string(), z.lazy(() => Maps));
    export const Records: z.ZodType = z.record(z.string(), z.lazy(() => Records));
    export const Tuples: z.ZodType = z.tuple([z.lazy(() => Tuples).nullable()]);
    const kinds = (kind: string) => z.object({ kind: z.literal(kind), get child() { return Tagged.optional(); } });
    export const Tagged: z.ZodType = z.discriminatedUnion("kind", [kinds("a"), kinds("b")]);
    export const Untagged: z.ZodType = z.union([z.array(z.lazy(() => Untagged)), z.string()]);`;
  const wrap = (level: (inner: unknown) => unknown, last: unknown, levels: number): unknown =>
    levels === 0 ? last : level(wrap(level, last, levels - 1));
  /** Each with values of so many levels. */
  const cases: readonly (readonly [source: string, value: (levels: number) => unknown])[] = [
    ["Tree", (n) => wrap((child) => ({ child }), {}, n - 1)],
    ["Tree", (n) => wrap((child) => ({ child }), { any: wrap((each) => [each], 1, 7) }, n - 8)],
    ["Tree", (n) => wrap((child) => ({ child }), { any: wrap((a) => ({ a }), new Date(5), 7) }, n - 8)],
    ["List", (n) => wrap((each) => [each], [], n - 1)],
    ["Sets", (n) => wrap((each) => new Set([each]), new Set(), n - 1)],
    ["Maps", (n) => wrap((each) => new Map([["k", each]]), new Map(), n - 1)],
    ["Records", (n) => wrap((k) => ({ k }), {}, n - 1)],
    ["Tuples", (n) => wrap((each) => [each], [null], n - 1)],
    ["Tagged", (n) => wrap((child) => ({ kind: "b", child }), { kind: "a" }, n - 1)],
    ["Untagged", (n) => wrap((each) => [each], [], n - 1)],
    ["z.any()", (n) => wrap((each) => [each], new Uint8Array(1), n)],
    ["z.object({ a: z.array(z.any()) })", (n) => ({ a: [wrap((a) => ({ a }), 1, n - 2)] })],
    ["z.object({ a: z.array(Untagged) })", (n) => ({ a: [wrap((each) => [each], [], n - 3)] })],
    ["z.object({ a: z.array(Tree) })", (n) => ({ a: [wrap((child) => ({ child }), {}, n - 3)] })],
    ["z.object({ a: Tree }).loose()", (n) => ({ b: wrap((each) => [each], 1, n - 1), a: {} })],
  ];
  const compiled = (explain: boolean) =>
    compileSamples(
      workspace,
      `deep${String(explain)}.service.ts`,
      cases.map(([source]) => plainSample(source)),
      explain,
      declarations,
    );

  test.each([true, false])("by whoever writes or reads it, explained: %s", async (explain) => {
    for (const [i, { codec }] of (await compiled(explain)).entries()) {
      const value = cases[i]?.[1] ?? expect.unreachable();
      const bytes = encode(codec, value(100));
      expect(codec.decode(bytes, 0, bytes.length)).toEqual(value(100));
      expect(refusal(() => encode(codec, value(101))).code).toBe("invalid_argument");
      const deeper = packr.pack(value(101));
      const error = refusal(() => codec.decode(new Uint8Array(deeper), 0, deeper.length));
      if (explain) expect(String(error.cause)).toContain("nested deeper than 100 levels");
    }
  });

  test("what nobody declares counts as well", async () => {
    const [sample] = await compileSamples(workspace, "undeclared.service.ts", [
      plainSample("z.object({ a: z.int() })"),
    ]);
    if (sample === undefined) throw new Error("no sample");
    const nested = (levels: number): Uint8Array => pack({ a: 1, b: wrap((each) => [each], 1, levels) });
    expect(sample.codec.decode(nested(99), 0, nested(99).length)).toEqual({ a: 1 });
    const deeper = new Uint8Array(packr.pack({ a: 1, b: wrap((each) => [each], 1, 100) }));
    refusal(() => sample.codec.decode(deeper, 0, deeper.length));
  });
});

describe("what a message makes of nothing counts as if it had been sent", () => {
  const row = (fields: string) => `z.array(z.object({ ${fields} }))`;
  const made = "z.array(z.int()).default(() => [1, 2, 3])";
  const cases: readonly (readonly [source: string, item: unknown, least: number])[] = [
    [row('a: z.array(z.int()).default([1, 2, 3]), b: z.string().default("b"), c: z.int().default(1)'), {}, 200],
    [row(`a: ${made}, b: ${made}`), {}, 300],
    [row("a: z.object({ b: z.array(z.int()).default([]) }).prefault({})"), {}, 120],
    ["z.array(z.int().or(z.array(z.int())).catch(() => [1, 2, 3]))", null, 120],
    ["z.array(z.set(z.int()))", [], 160],
    ["z.array(z.set(z.string()).refine(() => true))", [], 160],
    ["z.array(z.map(z.string(), z.int()))", new Map(), 190],
    ["z.array(z.union([z.string(), z.set(z.int()), z.map(z.int(), z.int())]))", [], 160],
    // V8 has places for all numbers below the largest.
    ["z.array(z.record(z.string(), z.int()))", { 500: 1 }, 3000],
    ["z.array(z.record(z.int(), z.int()))", { 500: 1 }, 3000],
    ["z.array(z.any())", { 500: 1 }, 3000],
    ["z.array(z.json())", { 500: 1 }, 3000],
    ["z.array(z.looseObject({ a: z.int().optional() }))", { 500: 1 }, 3000],
    ["z.array(z.looseRecord(z.string(), z.int()))", { 500: 1 }, 3000],
    ["z.array(z.xor([z.record(z.string(), z.int()), z.int()]))", { 500: 1 }, 3000],
  ];
  const samples = compileSamples(
    workspace,
    "nothing.service.ts",
    cases.map(([source]) => plainSample(source)),
  );

  const inMessagePack = cases.map(([source, item, least], i) => ({ form: "MessagePack", source, item, least, i }));
  // What else JSON says stays as the parser makes it: with numbers for keys a table.
  const inJson = inMessagePack.filter(({ source }) => /default|prefault|catch|set|xor|looseRecord/.test(source));
  test.each([...inMessagePack, ...inJson.map((each) => ({ ...each, form: "JSON" }))])(
    "$form in $source",
    async (sample) => {
      const { form, item, least, i } = sample;
      const own = (await samples)[i]?.codec ?? expect.unreachable();
      const codec = form === "JSON" ? jsonCodecOf(own) : own;
      const count = COUNT / 100;
      const items = times(() => item).slice(0, count);
      const bytes = form === "JSON" ? new TextEncoder().encode(JSON.stringify(items)) : pack(items);
      const take = (most: number): Taken => takeWithin(most, codec, bytes);
      expect(refusal(() => take(count * least)).code).toBe("resource_exhausted");
      const taken = take(count * least * 5);
      expect(taken.value).toHaveLength(count);
      expect(taken.held).toBeGreaterThan(count * least);
    },
  );
});

test.each([
  ["z.array(z.instanceof(Uint8Array))", '""', 160],
  ["z.array(z.map(z.string(), z.int()))", "{}", 160],
])("what JSON has another form for counts as the memory that it takes, in %s", async (source, item, least) => {
  const [sample] = await compileSamples(workspace, `forms${source.replaceAll(/\W/g, "")}.service.ts`, [
    plainSample(source),
  ]);
  if (sample === undefined) throw new Error("no sample");
  const count = COUNT / 100;
  const bytes = new TextEncoder().encode(
    `[${times(() => item)
      .slice(0, count)
      .join(",")}]`,
  );
  expect(takeWithin(count * 1000, jsonCodecOf(sample.codec), bytes).held).toBeGreaterThan(count * least);
});

describe("zodCodec", () => {
  test("takes as many values as it is told, of a sender and of a receiver", () => {
    const codec = zodCodec(z.array(z.int()), { maxNodes: 4 });
    expect(codec.decode(pack([1, 2, 3]), 0, 4)).toEqual([1, 2, 3]);
    const refused = { code: "resource_exhausted", message: expect.stringContaining("more than 4 values") as string };
    expect(() => codec.decode(pack([1, 2, 3, 4]), 0, 5)).toThrow(expect.objectContaining(refused));
    expect(() => encode(codec, [1, 2, 3, 4])).toThrow(expect.objectContaining(refused));
    expect(() => codec.plain?.decode([1, 2, 3, 4])).toThrow(expect.objectContaining(refused));
    expect(() => codec.plain?.encode([1, 2, 3, 4])).toThrow(expect.objectContaining(refused));
  });

  test("tells the first of many issues", () => {
    const codec = zodCodec(z.array(z.string()));
    const bytes = pack(Array.from({ length: 50_000 }, (_, i) => i));
    checkSmall(refusal(() => codec.decode(bytes, 0, bytes.length)));
  });
});

test("a value that claims to be longer than its message is refused for that, not for the time it would take", async () => {
  const union = "z.union([z.object({ a: z.int() }), z.object({ b: z.int() })])";
  const [sample] = await compileSamples(workspace, "longer.service.ts", [plainSample(union)]);
  if (sample === undefined) throw new Error("no sample");
  const longer = Uint8Array.of(0x82, 0xa1, 0x78, 0xc6, 0xff, 0xff, 0xff, 0xff, 0xa1, 0x61, 1);
  const error = refusal(() => takeWithin(33_554_432, sample.codec, longer, 33_554_432));
  expect(error).toMatchObject({ code: "invalid_argument", message: "the payload is not one MessagePack value" });
});
