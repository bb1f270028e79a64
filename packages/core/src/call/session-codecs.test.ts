import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionCodec } from "../contract/session-codec.js";
import { RpcError } from "../errors.js";
import { FrameWriter } from "../wire/writer.js";
import { json } from "./json.js";
import { requireModest } from "./nesting.js";
import { msgpack, msgpackRecords, raw } from "./session-codecs.js";

function encode(codec: SessionCodec, value: unknown): Uint8Array {
  const out = new FrameWriter(16);
  codec.encode(value, out);
  return out.written();
}

function roundTrip(codec: SessionCodec, value: unknown): unknown {
  const bytes = encode(codec, value);
  // In the middle of a larger buffer, as payloads are.
  const larger = new Uint8Array(bytes.length + 6);
  larger.set(bytes, 3);
  return codec.decode(larger, 3, 3 + bytes.length);
}

const text = (codec: SessionCodec, value: unknown): string => new TextDecoder().decode(encode(codec, value));
const known = msgpackRecords([["a", "b"], ["x"]]);

/** What arrives where it is not what was sent; the rows of the table in docs/codecs.md. */
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
      requireModest(arrived);
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

/** Buffers as what they extend. */
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
    "{",
    "\u0000",
  ])("refuses %s", (text) => {
    const bytes = new TextEncoder().encode(text);
    expect(() => json.decode(bytes, 0, bytes.length)).toThrow(Error);
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

describe("raw", () => {
  it("takes bytes as they are, and nothing else", () => {
    const bytes = new Uint8Array([1, 2, 3]);
    expect(encode(raw, bytes)).toEqual(bytes);
    expect(roundTrip(raw, bytes)).toEqual(bytes);
    expect(() => encode(raw, "text")).toThrow(RpcError);
  });
});

describe("requireModest", () => {
  it("C55 holds what any codec decoded to the depth that messages may have", () => {
    const nested = (depth: number, inner: unknown): unknown => (depth === 0 ? inner : nested(depth - 1, [inner]));
    for (const wrap of [(v: unknown) => [v], (v: unknown) => ({ v }), (v: unknown) => new Set([v])]) {
      requireModest(wrap(nested(99, 1)));
      expect(() => requireModest(wrap(nested(100, 1)))).toThrow("nested deeper than 100 levels");
    }
    expect(() => requireModest(new Map([[nested(100, 1), 1]]))).toThrow("nested deeper");
    requireModest(new Uint8Array(1e6));
  });
});
