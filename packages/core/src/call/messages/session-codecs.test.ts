import fc from "fast-check";
import { Packr } from "msgpackr";
import { describe, expect, it } from "vitest";
import type { SessionCodec } from "../../contract/codec.js";
import { RpcError } from "../../errors.js";
import { FrameWriter } from "../../wire/writer.js";
import { json } from "./json.js";
import { requireModest, requireSendable } from "./nesting.js";
import { msgpackRecords } from "./records-codec.js";
import { msgpack, raw } from "./session-format.js";

function encode(codec: SessionCodec, value: unknown): Uint8Array {
  const out = new FrameWriter(16);
  codec.encode(value, out);
  return out.written();
}

function roundTrip(codec: SessionCodec, value: unknown): unknown {
  const bytes = encode(codec, value);
  // Decodes from the middle of a larger buffer, because payloads are parts of received chunks.
  const larger = new Uint8Array(bytes.length + 6);
  larger.set(bytes, 3);
  return codec.decode(larger, 3, 3 + bytes.length);
}

const text = (codec: SessionCodec, value: unknown): string => new TextDecoder().decode(encode(codec, value));
const known = msgpackRecords([["a", "b"], ["x"]]);

/**
 * Test values, with the decoded value for each codec that changes it. They are the rows of the table in docs/codecs.md.
 */
const values: [string, unknown, { msgpack?: unknown; records?: unknown; json?: unknown }][] = [
  ["Date", new Date(1_700_000_000_123), {}],
  ["an invalid Date", new Date(Number.NaN), {}],
  ["bigint", 2n ** 63n, {}],
  ["a small bigint", 5n, { msgpack: 5, records: 5 }],
  ["Uint8Array", new Uint8Array([0, 1, 255]), {}],
  ["Map", new Map([["k", 1]]), { msgpack: { k: 1 } }],
  ["Set", new Set([1, "b"]), { msgpack: [1, "b"] }],
  ["an undefined property", { a: 1, b: undefined }, { msgpack: { a: 1 }, json: { a: 1 } }],
  ["undefined in an array", [undefined, 1], {}],
  ["NaN", Number.NaN, {}],
  ["Infinity", [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY], {}],
  ["-0", -0, { msgpack: 0, records: 0 }],
  ["null", null, {}],
  ["text", "größe \u{1f600} \ufeff", {}],
];

describe.each([
  ["msgpack", msgpack],
  ["records", msgpackRecords()],
  ["records", known],
  ["json", json],
] as const)("%s", (column, codec) => {
  it.each(values)("%s arrives as docs/codecs.md says", (_, value, differs) => {
    const expected = column in differs ? differs[column] : value;
    const arrived = roundTrip(codec, { value }) as { value: unknown };
    expect(plainBytes(arrived.value)).toStrictEqual(expected);
    expect(plainBytes(roundTrip(codec, value))).toStrictEqual(expected);
  });

  it("C55 __proto__ as a key changes no prototype", () => {
    const value = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') as unknown;
    try {
      const arrived = roundTrip(codec, value) as object;
      expect((arrived as { polluted?: unknown }).polluted).toBeUndefined();
      expect(Object.getPrototypeOf(arrived)).toBe(Object.prototype);
      expect((Object.assign({}, arrived) as { polluted?: unknown }).polluted).toBeUndefined();
      requireModest(arrived, 100);
    } catch (error) {
      expect(error).toMatchObject({ message: "a message has the key __proto__" });
    }
  });

  it("refuses what is not one value", () => {
    const bytes = encode(codec, { a: 1 });
    expect(() => codec.decode(bytes, 0, bytes.length - 1)).toThrow(Error);
    expect(() => codec.decode(bytes, 0, 0)).toThrow(Error);
  });
});

/** Converts a Node `Buffer` to a plain `Uint8Array`; returns other values unchanged. */
function plainBytes(value: unknown): unknown {
  return value instanceof Uint8Array ? new Uint8Array(value) : value;
}

describe("json", () => {
  it("writes the values that JSON lacks as objects of one key", () => {
    expect(text(json, { at: new Date(0), n: 5n, x: Number.NaN, z: -0, b: new Uint8Array([1, 2]) })).toBe(
      '{"at":{"$date":"1970-01-01T00:00:00.000Z"},"n":{"$bigint":"5"},"x":{"$number":"NaN"},"z":{"$number":"-0"},"b":{"$bytes":"AQI="}}',
    );
    expect(text(json, [new Map([[1, new Set(["a"])]])])).toBe('[{"$map":[[1,{"$set":["a"]}]]}]');
  });

  it("escapes objects that look so", () => {
    expect(text(json, { $date: "x" })).toBe('{"$$date":"x"}');
    for (const value of [{ $date: "x" }, { $$date: { $set: 1 } }, { $: 1, b: undefined }, { $map: [] }]) {
      expect(roundTrip(json, value)).toEqual(value);
    }
    expect(text(json, { $date: "x", more: 1 })).toBe('{"$date":"x","more":1}');
  });

  it("brings back any value without a key __proto__", () => {
    const anything = fc.anything({
      key: fc.string().filter((key) => key !== "__proto__"),
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      maxDepth: 4,
    });
    fc.assert(
      fc.property(anything, (value) => {
        expect(roundTrip(json, value)).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    '{"$date":5}',
    '{"$what":1}',
    '{"$map":[1]}',
    '{"$set":{}}',
    '{"$bytes":"%"}',
    '{"$bigint":"x"}',
    '{"$bigint":""}',
    '{"$bigint":" 1"}',
    '{"$bigint":"0x10"}',
    '{"$bigint":"1.5"}',
    '{"$number":"5"}',
    '{"$number":""}',
    '{"$number":"-Infinity "}',
    '{"$number":null}',
    '{"$date":"yesterday"}',
    '{"$date":"2026"}',
    '{"$date":"2026-02-31T00:00:00Z"}',
    '{"$date":"2026-01-31 00:00:00Z"}',
    '{"$date":"2026-01-31T00:00:00"}',
    '{"$date":""}',
    '{"$undefined":1}',
    '{"$date":"2024-04-31T00:00:00+02:00"}',
    '{"$map":[[1]]}',
    '{"$map":[[1,2,3]]}',
    "{",
    "\u0000",
  ])("refuses %s", (text) => {
    const bytes = new TextEncoder().encode(text);
    expect(() => json.decode(bytes, 0, bytes.length)).toThrow(Error);
  });

  it.each([
    ["2026-01-31T00:00:00Z", 1_769_817_600_000],
    ["2026-01-31T01:30:00.5+01:30", 1_769_817_600_500],
    ["+010000-01-01T00:00:00.000Z", 253_402_300_800_000],
  ])("takes the date %s", (text, time) => {
    const bytes = new TextEncoder().encode(`{"$date":"${text}"}`);
    expect(json.decode(bytes, 0, bytes.length)).toEqual(new Date(time));
  });

  it("C55 refuses a bigint of millions of digits before it is converted", () => {
    const digits = (count: number): Uint8Array => new TextEncoder().encode(`{"$bigint":"-${"9".repeat(count)}"}`);
    const most = digits(2500);
    expect(json.decode(most, 0, most.length)).toBe(1n - 10n ** 2500n);
    const many = digits(4_000_000);
    expect(() => json.decode(many, 0, many.length)).toThrow("more than 2500 digits");
  });

  it("refuses invalid UTF-8", () => {
    expect(() => json.decode(new Uint8Array([0x22, 0xff, 0x22]), 0, 3)).toThrow(TypeError);
  });

  it("C55 refuses deep nesting before it is parsed", () => {
    const deep = new TextEncoder().encode("[".repeat(1_000_000));
    expect(() => json.decode(deep, 0, deep.length)).toThrow("nested deeper than 100 levels");
    const quoted = new TextEncoder().encode(JSON.stringify(`\\"${"[".repeat(1000)}`));
    expect(json.decode(quoted, 0, quoted.length)).toContain("[[[");
  });
});

describe("msgpackRecords", () => {
  it("writes no key of a known record, and each other key once in a message", () => {
    const item = { first: 1, second: 2 };
    expect(encode(known, { a: 1, b: 2 })).toHaveLength(3);
    const one = encode(msgpackRecords(), [item]).length;
    expect(encode(msgpackRecords(), [item, item]).length - one).toBe(3);
    expect(encode(msgpack, [item, item]).length - encode(msgpack, [item]).length).toBe(16);
  });

  it("is named after its structures, in their order", () => {
    expect(msgpackRecords().name).toBe("msgpack-records");
    expect(known.name).toBe(msgpackRecords([["a", "b"], ["x"]]).name);
    expect(known.name).not.toBe(msgpackRecords([["x"], ["a", "b"]]).name);
    expect(known.name).toMatch(/^[a-z0-9-]{1,64}$/);
  });

  it("many structures, of which each message may use any", () => {
    const structures = Array.from({ length: 100 }, (_, i) => [`k${i}`, `l${i}`]);
    const codec = msgpackRecords(structures);
    const value = structures.map((_, i) => ({ [`k${i}`]: i, [`l${i}`]: [i] }));
    for (let i = 0; i < 3; i++) expect(roundTrip(codec, value)).toEqual(value);
  });

  it("a message cannot redefine a record for those after it", () => {
    const codec = msgpackRecords([["a", "b"]]);
    const hostile = new Uint8Array([0xd4, 0x72, 0x40, 0x92, 0xa1, 0x71, 0xa1, 0x72, 1, 2]);
    expect(codec.decode(hostile, 0, hostile.length)).toEqual({ q: 1, r: 2 });
    expect(codec.decode(encode(codec, { a: 1, b: 2 }), 0, 3)).toEqual({ a: 1, b: 2 });
  });
});

describe("what msgpackRecords reads", () => {
  const anything = fc.anything({
    key: fc.string().filter((key) => key !== "__proto__"),
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    maxDepth: 4,
    values: [fc.integer(), fc.string(), fc.boolean(), fc.record({ a: fc.integer(), b: fc.string() }), fc.bigInt()],
  });

  it.each([
    ["no structures", []],
    ["a few", [["a", "b"], ["x"]]],
    ["many", [["a", "b"], ...Array.from({ length: 60 }, (_, i) => [`k${i}`]), ["b", "a"]]],
  ])("is what msgpackr writes, with %s", (_, structures) => {
    const codec = msgpackRecords(structures);
    const reader = msgpackRecords(structures);
    fc.assert(
      fc.property(anything, (value) => {
        const bytes = encode(codec, value);
        // A separate decoder, because a peer may not have received earlier messages.
        expect(reader.decode(bytes, 0, bytes.length)).toEqual(readByMsgpackr(structures, bytes));
      }),
      { numRuns: 500 },
    );
  });

  it("many records of different keys in one message", () => {
    const value = Array.from({ length: 300 }, (_, i) => ({
      [`k${i % 100}`]: i,
      [`l${i % 100}`]: { [`m${i % 70}`]: 1 },
    }));
    for (const structures of [[], [["k1", "l1"]], value.slice(0, 40).map((each) => Object.keys(each))]) {
      expect(roundTrip(msgpackRecords(structures), value)).toEqual(value);
    }
  });

  it.each([
    ["a value inside itself", [0xd6, 0x69, 0, 0, 0, 1, 0x92, 0xd6, 0x70, 0, 0, 0, 1, 0xd6, 0x70, 0, 0, 0, 1]],
    ["a reference to nothing", [0xd6, 0x70, 0, 0, 0, 1]],
    ["a pattern", [0xd4, 0x78, 0, 0x92, 0xa1, 0x61, 0xa1, 0x67]],
    ["an error", [0xd4, 0x65, 0, 0x93, 0xa1, 0x61, 0xa1, 0x67, 0xc0]],
    ["a record that is not known", [0xd5, 0x72, 0x60, 0x00, 0x90, 0x66, 0x05]],
    ["keys that are no text", [0xd4, 0x72, 0x40, 0x91, 0x90, 1]],
    ["a bigint of 2000 bytes", [0xc8, 0x07, 0xd0, 0x42, ...Array<number>(2000).fill(1)]],
    ["arrays a million deep", Array<number>(1_000_000).fill(0x91)],
    ["records a million deep", [0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61, ...Array<number>(1_000_000).fill(0x40)]],
  ])("C55 is not %s", (_, bytes) => {
    expect(() => known.decode(new Uint8Array(bytes), 0, bytes.length)).toThrow(Error);
    expect(() => msgpackRecords().decode(new Uint8Array(bytes), 0, bytes.length)).toThrow(Error);
  });

  it("C55 as many kinds of records as a message has room for cost what their bytes do", () => {
    const kinds = Array.from({ length: 20_000 }, (_, i) => [
      0xd4,
      0x72,
      0x40,
      0x91,
      0xa3,
      ...digits(i),
      1,
      0x40,
      2,
      0x40,
      3,
    ]);
    const bytes = new Uint8Array([0xdc, ((20_000 * 3) >> 8) & 0xff, (20_000 * 3) & 0xff, ...kinds.flat()]);
    expect(known.decode(bytes, 0, bytes.length)).toHaveLength(60_000);
  });
});

/** Encodes a number as three ASCII letters. */
function digits(number: number): number[] {
  return [number >> 10, number >> 5, number].map((each) => 0x41 + (each & 31));
}

function readByMsgpackr(structures: readonly (readonly string[])[], bytes: Uint8Array): unknown {
  const packr = new Packr({
    getStructures: () => structures.map((keys) => [...keys]),
    maxSharedStructures: structures.length,
    mapsAsObjects: false,
    int64AsType: "auto",
  } as object);
  return packr.unpack(bytes) as unknown;
}

describe("raw", () => {
  it("takes bytes as they are, and nothing else", () => {
    const bytes = new Uint8Array([1, 2, 3]);
    expect(encode(raw, bytes)).toEqual(bytes);
    expect(roundTrip(raw, bytes)).toEqual(bytes);
    expect(() => encode(raw, "text")).toThrow(RpcError);
  });
});

describe("nesting", () => {
  const nested = (depth: number, inner: unknown): unknown => (depth === 0 ? inner : nested(depth - 1, [inner]));
  const containers = [
    (v: unknown) => [v],
    (v: unknown) => ({ v }),
    (v: unknown) => new Set([v]),
    (v: unknown) => new Map([[v, 1]]),
    (v: unknown) => new Map([[1, v]]),
  ];
  /** Values that do not count as a nesting level. */
  const scalars = [1, "a", null, new Date(5), new Uint8Array([1]), 5n];

  it("C55 holds what any codec decoded to the depth that messages may have", () => {
    for (const wrap of containers) {
      for (const scalar of scalars) requireModest(wrap(nested(99, scalar)), 1000);
      expect(() => requireModest(wrap(nested(100, 1)), 1000)).toThrow("nested deeper than 100 levels");
    }
    requireModest(new Uint8Array(1e6), 1e6);
  });

  it("C55 is counted alike by every codec, and by both sides", () => {
    for (const codec of [msgpack, msgpackRecords(), known, json]) {
      for (const wrap of containers) {
        for (const scalar of scalars) {
          const deepest = wrap(nested(99, scalar));
          requireSendable(deepest);
          const bytes = encode(codec, deepest);
          requireModest(codec.decode(bytes, 0, bytes.length), bytes.length);
        }
        expect(() => requireSendable(wrap(nested(100, 1)))).toThrow("nested deeper than 100 levels");
      }
    }
  });

  it("C55 an object that holds others again and again is refused, in time", () => {
    let shared: unknown = [];
    for (let i = 0; i < 90; i++) shared = [shared, shared];
    expect(() => requireModest(shared, 1000)).toThrow("holds the same value in several places");
    const circle: unknown[] = [];
    circle.push(circle, circle);
    expect(() => requireModest(circle, 1000)).toThrow("nested deeper");
    expect(() => requireSendable(circle)).toThrow("nested deeper");
  });

  it("a codec may make more values than bytes, as one that compresses does", () => {
    requireModest(
      Array.from({ length: 1000 }, () => ({})),
      10,
    );
  });
});
