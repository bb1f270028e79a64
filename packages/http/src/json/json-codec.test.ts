import { RpcError } from "@quicrpc/core";
import * as wire from "@quicrpc/core/codec";
import { bytesCodec, uncheckedCodec } from "@quicrpc/core/generated";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { colliding, MANY } from "../../../core/test/colliding.js";
import { type JsonCodec, jsonCodecOf } from "./json-codec.js";

function jsonOf(shape: wire.Shape): JsonCodec<unknown> {
  return jsonCodecOf(wire.codec<unknown, unknown>(() => shape, wire.misfit, wire.misfit));
}

function refusal(run: () => unknown): RpcError {
  try {
    run();
  } catch (error) {
    if (error instanceof RpcError) return error;
  }
  throw new Error("nothing was refused");
}

describe("values that JSON lacks", () => {
  const time = new Date("2026-01-31T12:00:00.000Z");
  const cases: readonly [wire.Shape, unknown, string, ...string[]][] = [
    [wire.date(), time, '"2026-01-31T12:00:00.000Z"', '"2026-01-31T12:00:00Z"', '"2026-01-31T13:00:00+01:00"'],
    [wire.bytes(), new Uint8Array([251, 255, 0]), '"+/8A"', '"-_8A"'],
    [wire.bytes(), new Uint8Array([1]), '"AQ=="', '"AQ"'],
    [wire.typedArray(Float64Array), Float64Array.of(1), '"AAAAAAAA8D8="'],
    [wire.bigint(), 2n ** 63n, '"9223372036854775808"'],
    [wire.bigint(), 5n, '"5"', "5"],
    [wire.set(wire.number()), new Set([1, 2]), "[1,2]"],
    [wire.map(wire.string(), wire.date()), new Map([["a", time]]), '{"a":"2026-01-31T12:00:00.000Z"}'],
    [wire.map(wire.number(), wire.string()), new Map([[1.5, "a"]]), '{"1.5":"a"}'],
    [wire.map(wire.bigint(), wire.string()), new Map([[7n, "a"]]), '{"7":"a"}'],
    [wire.map(wire.string(), wire.number()), new Map([["__proto__", 1]]), '{"__proto__":1}'],
    [wire.literal(1n, "a"), 1n, '"1"', "1"],
    [
      wire.intersection(
        wire.object({ a: wire.optional(wire.object({ x: wire.date(), s: wire.date() })) }),
        wire.object({ a: wire.object({ y: wire.string(), s: wire.optional(wire.date()) }) }),
      ),
      { a: { x: time, s: time, y: "b" } },
      '{"a":{"x":"2026-01-31T12:00:00.000Z","s":"2026-01-31T12:00:00.000Z","y":"b"}}',
    ],
    [
      wire.intersection(
        wire.object({ a: wire.array(wire.object({ x: wire.number() })) }),
        wire.object({ a: wire.array(wire.object({ y: wire.number() })) }),
      ),
      { a: [{ x: 1, y: 2 }] },
      '{"a":[{"x":1,"y":2}]}',
    ],
    [
      wire.object({ a: wire.optional(wire.string()), b: wire.string() }),
      { a: undefined, b: 'q"\n' },
      '{"b":"q\\"\\n"}',
    ],
  ];

  test.each(cases)("%#: are written and read as people write them", (shape, value, text, ...others) => {
    const json = jsonOf(shape);
    expect(json.write(value)).toBe(text);
    for (const each of [text, ...others]) expect(json.read(each)).toEqual(value);
  });

  test.each(["2024-04-31T00:00:00+02:00", "2024-02-30T00:00:00Z", "2024-02-30", "foo 1"])(
    "%s is not a date",
    (text) => {
      expect(refusal(() => jsonOf(wire.date()).read(JSON.stringify(text)))).toMatchObject({ code: "invalid_argument" });
    },
  );

  const stripped = wire.union(
    wire.object({ a: wire.withDefault(wire.number(), () => 1), b: wire.optional(wire.number()) }),
    wire.object({ c: wire.optional(wire.number()) }),
  );
  const caught = wire.caught(wire.record({}, wire.number()), () => "caught");
  test.each<[string, wire.Shape, unknown, string?]>([
    [
      "undefined that becomes a default",
      wire.record(
        {},
        wire.withDefault(wire.number(), () => 3),
      ),
      { a: undefined },
    ],
    ["undefined that is replaced", caught, { a: undefined }],
    [
      "undefined that is replaced in an intersection",
      wire.intersection(wire.object({ a: caught }), wire.object({})),
      { a: { b: undefined } },
    ],
    ["an object that without undeclared keys fits an earlier option", stripped, { b: "x", c: 1 }, '{"b":"x","c":1}'],
    ["the same with undeclared keys that JSON lacks", stripped, { b: 1n, c: 1 }],
    ["undefined that stays", wire.record({}, wire.optional(wire.number())), { a: undefined }, "{}"],
    ["a value that is replaced", caught, { a: "x" }, '{"a":"x"}'],
    ["an object of the first option", stripped, { b: 1, c: 2 }, '{"b":1}'],
  ])("%s", (_, shape, value, text) => {
    const json = jsonOf(shape);
    if (text === undefined) expect(refusal(() => json.write(value)).message).toContain("JSON cannot represent it");
    else expect(json.write(value)).toBe(text);
  });

  test("keys that no option declares are not written, at any depth", () => {
    const inner = (fields: Record<string, wire.Shape>): wire.Shape =>
      wire.array(wire.object({ x: wire.object(fields) }));
    const shape = wire.union(
      wire.object({ list: wire.optional(inner({ b: wire.optional(wire.number()) })) }),
      wire.object({ list: inner({ c: wire.optional(wire.number()) }) }),
    );
    const json = jsonOf(shape);
    const secret = { passwordHash: "h" };
    const lists = wire.intersection(
      wire.object({ a: wire.array(wire.object({ x: wire.number() })) }),
      wire.object({ a: wire.array(wire.object({ y: wire.number() })) }),
    );
    expect(jsonOf(lists).write({ a: [{ x: 1, y: 2, ...secret }] })).toBe('{"a":[{"x":1,"y":2}]}');
    expect(json.write({ ...secret, list: [{ ...secret, x: { ...secret, b: "x", c: 1 } }] })).toBe(
      '{"list":[{"x":{"b":"x","c":1}}]}',
    );
    const refusing = wire.union(
      wire.record({}, wire.number()),
      wire.object({ a: wire.optional(wire.number()), o: wire.optional(wire.object({})) }),
    );
    expect(refusal(() => jsonOf(refusing).write({ a: 1, passwordHash: "h" })).message).toContain("JSON cannot");
    const strict = wire.union(
      wire.object({ a: wire.number() }, "strict"),
      wire.object({ a: wire.number(), b: wire.optional(wire.number()) }),
    );
    expect(refusal(() => jsonOf(strict).write({ a: 1, ...secret })).message).toContain("JSON cannot");
    // With only the declared keys, the first option of the inner union would match.
    const nested = wire.union(
      wire.object({ n: wire.object({ a: wire.number(), k: wire.optional(wire.string()) }) }),
      wire.object({
        n: wire.union(wire.object({ a: wire.number(), k: wire.number() }, "strict"), wire.object({ a: wire.number() })),
      }),
    );
    expect(refusal(() => jsonOf(nested).write({ n: { a: 1, k: 2, ...secret } })).message).toContain("JSON cannot");
  });

  test("options that a literal tells apart are not tried", () => {
    let runs = 0;
    const count = (of: wire.Shape): wire.Shape => ({ ...of, run: (...args) => (runs++, of.run(...args)) });
    const json = jsonOf(
      wire.union(
        count(wire.object({ k: wire.literal("a"), v: wire.optional(wire.string()) })),
        wire.object({ k: wire.literal("b"), v: wire.string() }),
      ),
    );
    expect(json.write({ k: "b", v: "x" })).toBe('{"k":"b","v":"x"}');
    // Once to choose the option.
    expect(runs).toBe(1);
  });

  test("raw bytes are base64", () => {
    const json = jsonCodecOf(bytesCodec);
    expect(json.write(new Uint8Array([1, 2]))).toBe('"AQI="');
    expect(json.read('"AQI="')).toEqual(new Uint8Array([1, 2]));
    expect(refusal(() => json.read('"*"'))).toMatchObject({ code: "invalid_argument" });
  });
});

describe("numbers of one hash", () => {
  const sets = [wire.set(wire.number()), wire.set(wire.union(wire.number(), wire.string()))];
  const many = Array.from({ length: 20_000 }, (_, i) => i);

  test("are refused in sets", () => {
    for (const json of sets.map(jsonOf)) {
      expect(refusal(() => json.read(JSON.stringify(colliding.integers(MANY))))).toMatchObject({
        code: "invalid_argument",
        message: "too many numbers of one hash",
      });
      expect(json.read(JSON.stringify(many))).toEqual(new Set(many));
      expect(json.read(JSON.stringify(many.map((i) => i % 5000)))).toHaveProperty("size", 5000);
    }
  });

  test("are refused as keys of maps", () => {
    for (const [key, keys] of [
      [wire.number(), colliding.integers(MANY)],
      [wire.bigint(), colliding.bigints(MANY)],
    ] as const) {
      const json = jsonOf(wire.map(key, wire.number()));
      const text = (all: readonly unknown[]): string =>
        JSON.stringify(Object.fromEntries(all.map((each) => [each, 1])));
      expect(refusal(() => json.read(text(keys)))).toMatchObject({ message: "too many numbers of one hash" });
      expect(json.read(text(Array.from({ length: 5000 }, (_, i) => i)))).toHaveProperty("size", 5000);
    }
  });
});

describe("what does not fit", () => {
  const user = wire.object({
    name: wire.string(wire.minSize(1)),
    born: wire.date(),
    tags: wire.array(wire.string()),
    key: wire.optional(wire.bytes()),
    count: wire.optional(wire.bigint()),
  });
  const valid = { name: "Ada", born: "1815-12-10T00:00:00Z", tags: ["a"] };

  test.each([
    [{ ...valid, born: "tomorrow" }, "expected a time such as 2026-01-31T12:00:00Z, received string at born"],
    [
      { ...valid, born: "2026-02-30T00:00:00Z" },
      "expected a time such as 2026-01-31T12:00:00Z, received string at born",
    ],
    [{ ...valid, tags: ["a", 1] }, "expected string, received number at tags.1"],
    [{ ...valid, key: "*" }, "expected bytes in base64, received string at key"],
    [{ ...valid, key: "AQ ==" }, "expected bytes in base64, received string at key"],
    [{ ...valid, count: 2 ** 53 }, "expected an integer as text, received number at count"],
    [{ ...valid, count: "9".repeat(3000) }, "expected an integer as text, received string at count"],
    [{ ...valid, name: "" }, "too small: expected at least 1 character at name"],
    [{}, "expected string, received undefined at name (and 2 more)"],
    [[], "expected object, received array"],
    [null, "expected object, received null"],
  ])("%#: names the field", (given, message) => {
    const error = refusal(() => jsonOf(user).read(JSON.stringify(given)));
    expect(error).toMatchObject({ code: "invalid_argument", message });
    expect(error.details).toBeInstanceOf(Array);
  });

  test.each(["", "{", '{"a":1', "nul", "\u0000", "[1,]", "NaN", "{'a':1}"])("%j is no JSON", (text) => {
    expect(refusal(() => jsonOf(user).read(text))).toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("this is not JSON"),
    });
  });

  test("infinite numbers are refused both ways", () => {
    const json = jsonOf(wire.number());
    expect(refusal(() => json.read("1e999"))).toMatchObject({ code: "invalid_argument" });
    expect(refusal(() => json.write(Number.NaN))).toMatchObject({ code: "invalid_argument" });
  });

  test("a sender's value is validated", () => {
    const error = refusal(() => jsonOf(user).write({ ...valid, born: "1815" }));
    expect(error).toMatchObject({ code: "invalid_argument", message: "expected date, received string at born" });
  });
});

test("an item that is left out before others is refused, also if the array is sparse", () => {
  const json = jsonOf(wire.tuple([wire.optional(wire.string()), wire.optional(wire.number())]));
  const sparse: unknown[] = [];
  sparse[1] = 1;
  for (const value of [sparse, [undefined, 1]]) {
    expect(refusal(() => json.write(value))).toMatchObject({ code: "invalid_argument" });
  }
  expect(json.write(["a", undefined])).toBe('["a"]');
});

test("an absent field whose schema takes no undefined and results in a value is refused, as by zod", () => {
  const json = jsonOf(wire.object({ a: wire.pipe(wire.exactOptional(wire.string()), wire.string()) }));
  expect(refusal(() => json.write({}))).toMatchObject({ message: "expected string, received undefined at a" });
  expect(refusal(() => json.read("{}"))).toMatchObject({ message: "expected string, received undefined at a" });
  expect(json.write({ a: "b" })).toBe('{"a":"b"}');
});

describe("messages that plain JSON does not say all of are refused", () => {
  const cases: readonly [wire.Shape, string][] = [
    [wire.any(), "a value of any type"],
    [
      wire.object({ a: wire.object({ b: wire.array(wire.any()) }) }),
      "a value of any type (z.json() takes what JSON has) at a.b.*",
    ],
    [wire.object({}, wire.loose), "at *"],
    [wire.tuple([wire.string(), wire.nothing()]), "undefined in a tuple"],
    [wire.tuple([wire.union(wire.nothing(), wire.string())]), "undefined in a tuple"],
    [wire.literal(1, Number.NaN), "the number NaN"],
    [wire.array(wire.literal(-Infinity)), "the number -Infinity"],
    [wire.union(wire.string(), wire.date()), "a union of text and date"],
    [wire.nullable(wire.union(wire.bytes(), wire.string())), "a union of text and bytes"],
    [wire.union(wire.bigint(), wire.date()), "a union of bigint and date"],
    [wire.union(wire.bigint(), wire.number()), "number and bigint"],
    [wire.union(wire.typedArray(Float64Array), wire.bytes()), "Float64Array and Uint8Array"],
    [wire.union(wire.literal("7"), wire.bigint()), "text and bigint"],
    [wire.literal("7", 7n), "a bigint and the same as text or number"],
    [wire.union(wire.object({ a: wire.string() }), wire.object({ a: wire.date() })), "text and date"],
    [wire.union(wire.array(wire.date()), wire.set(wire.string())), "text and date"],
    [wire.union(wire.record({}, wire.date()), wire.object({ a: wire.string() })), "text and date"],
    [wire.map(wire.object({}), wire.string()), "a map whose keys are no text (object)"],
    [wire.map(wire.literal("1", 1), wire.string()), "the same as text"],
    [wire.array(wire.optional(wire.string())), "undefined in an array"],
    [wire.optional(wire.string()), "a message that may be undefined"],
    [wire.object({ a: wire.nothing() }), "a, which has to be there and may be undefined"],
    [
      wire.intersection(
        wire.object({ a: wire.array(wire.object({ x: wire.date() })) }),
        wire.object({ a: wire.array(wire.object({ y: wire.number() })) }),
      ),
      "an intersection of other than objects",
    ],
    [wire.external(z.custom(() => true)), "only zod knows"],
    [wire.external(z.nan()), "only zod knows"],
    [
      wire.external(z.codec(z.bigint(), z.string(), { decode: String, encode: BigInt }), wire.bigint()),
      "only zod knows",
    ],
  ];

  test.each(cases)("%#", (shape, reason) => {
    const error = refusal(() => jsonOf(shape));
    expect(error).toMatchObject({ code: "unimplemented", message: expect.stringContaining(reason) });
  });

  test.each([
    wire.union(wire.literal("now"), wire.date()),
    wire.union(wire.number(), wire.date()),
    wire.union(
      wire.object({ k: wire.literal("a"), v: wire.date() }),
      wire.object({ k: wire.literal("b"), v: wire.string() }),
    ),
    wire.discriminated("k", [
      ["a", wire.object({ k: wire.literal("a"), v: wire.date() })],
      ["b", wire.object({ k: wire.literal("b"), v: wire.string() })],
    ]),
    wire.union(
      wire.object({ k: wire.string(), v: wire.date() }),
      wire.object({ k: wire.literal(null, 1), v: wire.string() }),
    ),
    wire.union(wire.tuple([wire.number(), wire.date()]), wire.tuple([wire.string(), wire.date()], wire.date())),
    wire.union(wire.tuple([wire.string(), wire.date()]), wire.array(wire.number())),
    wire.union(wire.object({ toString: wire.date() }), wire.object({ a: wire.string() })),
    wire.external(z.url(), "json"),
    wire.external(z.xor([z.string(), z.object({ a: z.number() })]), "json"),
  ])("%#: others are not", (shape) => {
    expect(() => jsonOf(shape)).not.toThrow();
  });

  test("as are codecs without a shape", () => {
    const error = refusal(() => jsonCodecOf(uncheckedCodec()));
    expect(error).toMatchObject({
      code: "unimplemented",
      message: expect.stringContaining("message's schema at run time"),
    });
  });
});

describe("bytes", () => {
  const json = jsonOf(wire.string());

  test.each(["", "a", "naïve 日本語 😀", "é".repeat(16 * 1024), "x".repeat(100_000)])("%#: are UTF-8", (text) => {
    const out = {
      buffer: new Uint8Array(4),
      position: 3,
      reserve(length: number) {
        const larger = new Uint8Array(this.position + length);
        larger.set(this.buffer.subarray(0, this.position));
        this.buffer = larger;
      },
    };
    json.encode(text, out);
    const bytes = out.buffer.subarray(3, out.position);
    expect(new TextDecoder().decode(bytes)).toBe(JSON.stringify(text));
    expect(json.decode(out.buffer, 3, out.position)).toBe(text);
  });
});

describe("attacks", () => {
  const node: wire.Shape = wire.object({ next: wire.optional(wire.lazy(() => node, "optional", "optional")) });
  const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

  test("a value nested too deep is refused before it is parsed, whatever the schema", () => {
    const deep = bytesOf(`{"next":`.repeat(50_000) + "1" + "}".repeat(50_000));
    for (const shape of [node, wire.object({})]) {
      const error = refusal(() => jsonOf(shape).decode(deep, 0, deep.length));
      expect(error).toMatchObject({ code: "invalid_argument", message: expect.stringContaining("nested deeper") });
    }
  });

  test("a sender's value inside itself is refused", () => {
    const value: { next?: unknown } = {};
    value.next = value;
    expect(refusal(() => jsonOf(node).write(value))).toMatchObject({ code: "invalid_argument" });
  });

  test("keys of prototypes are keys like others", () => {
    const json = jsonOf(wire.object({ a: wire.number(), toString: wire.optional(wire.string()) }));
    expect(json.read('{"a":1,"toString":"x","__proto__":{"b":1}}')).toStrictEqual({ a: 1, toString: "x" });
    const record = jsonOf(wire.record({}, wire.number()));
    expect(record.read('{"a":1,"__proto__":2,"constructor":3}')).toStrictEqual(
      Object.defineProperty({ a: 1 }, "constructor", { value: 3, enumerable: true }),
    );
    const stripped = jsonOf(wire.object({ a: wire.number() })).read('{"a":1,"__proto__":{"b":1}}') as object;
    expect(Object.getPrototypeOf(stripped)).toBe(Object.prototype);
  });

  test("of many wrong items the first are told, and no more looked at", () => {
    const error = refusal(() => jsonOf(wire.array(wire.string())).read(`[${"1,".repeat(100_000)}1]`));
    expect(error.details).toHaveLength(20);
  });
});
