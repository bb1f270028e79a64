import { describe, expect, it } from "vitest";
import { z } from "zod";
import { zodCodec } from "../call/messages/codec.js";
import { type DecodeBudget, decodeWithin } from "./decode-within.js";
import { json } from "../call/messages/json.js";
import type { MessageCodec } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import { MAX_DISTINCT_KEYS } from "../fixed-limits.js";
import { DEFAULT_LIMITS } from "../limits.js";
import { pack } from "./pack.js";

const budget: DecodeBudget = {
  max: DEFAULT_LIMITS.maxSessionBytes,
  room: Number.POSITIVE_INFINITY,
  decodedBytes: 0,
  refusal: (what) => new RpcError("resource_exhausted", `the budget has no room for ${what}`),
};
const options = { maxNodes: 10_000_000 };
const codecs: Readonly<Record<string, MessageCodec<unknown>>> = {
  any: zodCodec(z.any(), options),
  record: zodCodec(z.record(z.string(), z.unknown()), options),
  loose: zodCodec(z.looseObject({}), options),
  json: zodCodec(z.json(), options),
};
const encoder = new TextEncoder();

function distinctKeys(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`key ${i}`, i]));
}

function decodeJson(value: unknown): unknown {
  const bytes = encoder.encode(JSON.stringify(value));
  return decodeWithin(budget, json, bytes, 0, bytes.length);
}

/** Twice the limit: the first few thousand keys of a message are not counted. */
const many = distinctKeys(MAX_DISTINCT_KEYS * 2);
const most = distinctKeys(MAX_DISTINCT_KEYS);
const refusal = "takes too long to validate";

describe.each(Object.entries(codecs))("a message of z.%s", (_, codec) => {
  const decode = (value: unknown): unknown => {
    const bytes = pack(value);
    return decodeWithin(budget, codec, bytes, 0, bytes.length);
  };

  it("is refused if it has too many distinct keys in one object", () => {
    expect(() => decode(many)).toThrow(refusal);
    expect(Object.keys(decode(most) as object)).toHaveLength(MAX_DISTINCT_KEYS);
  });

  it("is refused if it has too many distinct keys in many objects", () => {
    const rows = Object.keys(many).map((key) => ({ [key]: 1 }));
    expect(() => decode({ rows })).toThrow(refusal);
  });

  it("may repeat its keys", () => {
    const rows = Array.from({ length: MAX_DISTINCT_KEYS * 2 }, (_each, id) => ({ id, name: "" }));
    expect(decode({ rows })).toHaveProperty("rows.length", rows.length);
  });
});

describe("a message of JSON", () => {
  it("is refused if it has too many distinct keys", () => {
    expect(() => decodeJson(many)).toThrow(refusal);
    expect(() => decodeJson(Object.keys(many).map((key) => ({ [key]: 1 })))).toThrow(refusal);
    expect(Object.keys(decodeJson(most) as object)).toHaveLength(MAX_DISTINCT_KEYS);
  });

  it("may repeat its keys, and have any number of colons in text", () => {
    const rows = Array.from({ length: MAX_DISTINCT_KEYS * 2 }, (_, id) => ({ id, text: `"${id}":` }));
    expect(decodeJson(rows)).toHaveLength(rows.length);
  });
});

describe("a message of as many values as a session has room for", () => {
  const room = { ...budget, max: Number.POSITIVE_INFINITY, room: DEFAULT_LIMITS.maxSessionBytes };
  const rowsOf = (count: number, keys: number): unknown =>
    Array.from({ length: count }, (_, i) => ({ [`key ${i % keys}`]: 1 }));
  const any = zodCodec(z.any(), options);

  it("has fewer objects if their keys differ, which V8 makes hash tables", () => {
    const decode = (value: unknown): unknown => {
      const bytes = pack(value);
      return decodeWithin(room, any, bytes, 0, bytes.length);
    };
    expect(() => decode(rowsOf(200_000, 45_000))).toThrow("no room");
    expect(decode(rowsOf(200_000, 500))).toHaveLength(200_000);
    const bytes = encoder.encode(JSON.stringify(rowsOf(250_000, 45_000)));
    expect(() => decodeWithin(room, json, bytes, 0, bytes.length)).toThrow("no room");
  });

  it("has fewer objects in JSON if they have few keys in many combinations", () => {
    const rows = Array.from({ length: 20_000 }, (_, i) =>
      Object.fromEntries(Array.from({ length: 20 }, (_, j) => [`k${(i * (j + 1) + j) % 211}`, 1])),
    );
    const bytes = encoder.encode(JSON.stringify(rows));
    expect(() => decodeWithin(room, json, bytes, 0, bytes.length)).toThrow("no room");
  });

  it("has fewer values if they are in a Set, whose table costs more", () => {
    const decode = (count: number): unknown => {
      const bytes = pack(Array.from({ length: count }, (_, i) => `key ${i}`));
      return decodeWithin(room, zodCodec(z.set(z.string()), options), bytes, 0, bytes.length);
    };
    expect(() => decode(350_000)).toThrow("no room");
    expect(decode(100_000)).toHaveProperty("size", 100_000);
  });
});

it("a message may have keys in many orders, but not in hundreds of thousands", () => {
  const bytesOf = (rows: number, keys: number, order: (row: number, key: number) => number): Uint8Array =>
    pack(
      Array.from({ length: rows }, (_, row) =>
        Object.fromEntries(Array.from({ length: keys }, (_, key) => [`k${order(row, key) % 1000}`, 1])),
      ),
    );
  const decode = (bytes: Uint8Array): unknown =>
    decodeWithin(budget, zodCodec(z.any(), options), bytes, 0, bytes.length);
  const mixed = (row: number, key: number): number => row * 7 + key * (1 + (row % 499));
  expect(() => decode(bytesOf(18_000, 20, mixed))).toThrow(refusal);
  // Few pairs of keys in many orders take V8 as long.
  expect(() => decode(bytesOf(18_000, 20, (row, key) => (key * (1 + (row % 22)) + row) % 23))).toThrow(refusal);
  expect(decode(bytesOf(3_000, 20, mixed))).toHaveLength(3_000);
  expect(decode(bytesOf(12_000, 20, (_row, key) => key))).toHaveLength(12_000);
});

it("a message may have 100,000 objects with any of three keys", () => {
  const rows = Array.from({ length: 100_000 }, (_, i) =>
    Object.fromEntries(["a", "b", "c"].map((_each, j) => ["abc"[(i + j * (1 + (i % 2))) % 3] ?? "", 1])),
  );
  const bytes = pack(rows);
  expect(decodeWithin(budget, zodCodec(z.any(), options), bytes, 0, bytes.length)).toHaveLength(100_000);
});

it("counts the keys of each message by themselves", () => {
  for (let i = 0; i < 3; i++) {
    expect(() => decodeJson(many)).toThrow(refusal);
    expect(Object.keys(decodeJson(most) as object)).toHaveLength(MAX_DISTINCT_KEYS);
  }
});
