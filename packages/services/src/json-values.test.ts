import { jsonOf } from "@quicrpc/core/internal";
import { expect, test } from "vitest";
import { valueOf } from "./json-values.js";

const date = { type: "string", format: "date-time", "x-quicrpc-type": "date" };
const big = { type: "integer", "x-quicrpc-type": "bigint" };
const bytes = { type: "string", contentEncoding: "base64", "x-quicrpc-type": "bytes" };
const object = (properties: object, required: string[] = []): object => ({ type: "object", properties, required });
const mapBy = (key: object): object => ({ type: "array", items: { prefixItems: [key, {}] }, "x-quicrpc-type": "map" });

test.each([
  [date, "1970-01-01T00:00:00.000Z", new Date(0)],
  [big, "9007199254740993", 9_007_199_254_740_993n],
  [bytes, "AQL/", Uint8Array.of(1, 2, 255)],
  [{ type: "array", items: big, "x-quicrpc-type": "set" }, ["1", "2"], new Set([1n, 2n])],
  [
    { type: "array", items: { prefixItems: [{ type: "integer" }, date] }, "x-quicrpc-type": "map" },
    { "7": "1970-01-01T00:00:00.000Z" },
    new Map([[7, new Date(0)]]),
  ],
  [
    mapBy({ type: "boolean" }),
    { true: 1, false: 2 },
    new Map([
      [true, 1],
      [false, 2],
    ]),
  ],
  [
    mapBy({ anyOf: [{ const: "a" }, { type: "number" }] }),
    { a: 1, "1.5": 2, b: 3 },
    new Map<unknown, number>([
      ["a", 1],
      [1.5, 2],
      ["b", 3],
    ]),
  ],
  [mapBy({ enum: [1, 2] }), { "1": 1 }, new Map([[1, 1]])],
  [mapBy(big), { "5": 1 }, new Map([[5n, 1]])],
  [{ ...big, const: "5" }, "5", 5n],
  [{ anyOf: [{ ...big, enum: ["5", "6"] }, { const: "a" }] }, "6", 6n],
  [{ anyOf: [{ ...big, enum: ["5", "6"] }, { const: "a" }] }, "a", "a"],
  [{ ...mapBy({ $ref: "#/$defs/Key" }), $defs: { Key: { type: "integer" } } }, { "1": 1 }, new Map([[1, 1]])],
  [
    mapBy({ type: "string" }),
    { "1": 1, true: 2 },
    new Map([
      ["1", 1],
      ["true", 2],
    ]),
  ],
  [mapBy(object({ at: date })), [[{ at: "1970-01-01T00:00:00.000Z" }, 1]], new Map([[{ at: new Date(0) }, 1]])],
  [object({ at: date }), { at: "1970-01-01T00:00:00.000Z", more: 1 }, { at: new Date(0), more: 1 }],
  [{ type: "object", additionalProperties: big }, { a: "1" }, { a: 1n }],
  [{ type: "array", items: date }, ["1970-01-01T00:00:00.000Z"], [new Date(0)]],
  [{ prefixItems: [big, { type: "string" }], items: false }, ["1", "2"], [1n, "2"]],
  [{ anyOf: [{ type: "null" }, date] }, "1970-01-01T00:00:00.000Z", new Date(0)],
  [{ anyOf: [{ type: "null" }, date] }, null, null],
  [
    {
      oneOf: [object({ by: { const: "card" }, n: { type: "string" } }), object({ by: { const: "cash" }, n: big })],
    },
    { by: "cash", n: "3" },
    { by: "cash", n: 3n },
  ],
  [
    { allOf: [object({ a: big }), object({ b: date })] },
    { a: "1", b: "1970-01-01T00:00:00.000Z" },
    { a: 1n, b: new Date(0) },
  ],
  [
    { $ref: "#/$defs/node", $defs: { node: object({ at: date, next: { $ref: "#/$defs/node" } }) } },
    { at: "1970-01-01T00:00:00.000Z", next: { at: "1970-01-01T00:00:00.000Z" } },
    { at: new Date(0), next: { at: new Date(0) } },
  ],
])("%j reads and writes %j", (schema, json, value) => {
  expect(valueOf(json, schema as Record<string, unknown>)).toEqual(value);
  expect(jsonOf(value)).toEqual(json);
});

test.each([
  // A message without its schema has small big integers as numbers.
  [object({ at: date, n: big }), { at: new Date(0), n: 7 }, { at: new Date(0), n: 7n }],
  [
    { anyOf: [{ type: "string" }, object({ b: bytes, n: big })] },
    { b: Uint8Array.of(1), n: 7 },
    { b: Uint8Array.of(1), n: 7n },
  ],
  [{ type: "array", items: big, "x-quicrpc-type": "set" }, [1, 2], new Set([1n, 2n])],
  [{ type: "array", items: {}, "x-quicrpc-type": "map" }, new Map([["a", 1]]), new Map([["a", 1]])],
  [{ anyOf: [{ type: "string" }, mapBy(big)] }, [["5", 1]], new Map([[5n, 1]])],
  [object({ at: object({}) }), { at: new Date(0) }, { at: new Date(0) }],
])("%j completes a value that came without it", (schema, given, value) => {
  expect(valueOf(given, schema as Record<string, unknown>)).toEqual(value);
});

test.each([
  [date, "soon"],
  [date, "2024-02-30"],
  [date, "2024-04-31T00:00:00+02:00"],
  [date, "foo 1"],
  [{ anyOf: [date, { type: "string" }] }, "room 7"],
  [big, "many"],
  [big, 1.5],
  [bytes, "?"],
  [object({ at: date }), 7],
  [{ $ref: "#" }, {}],
  [{ $ref: "https://elsewhere.example" }, "a"],
])("what does not fit %j stays for the server to refuse: %j", (schema, json) => {
  expect(valueOf(json, schema as Record<string, unknown>)).toEqual(json);
});

test("names of a prototype are names", () => {
  const given = JSON.parse('{"__proto__":{"at":"1970-01-01T00:00:00.000Z"}}') as unknown;
  const value = valueOf(given, { type: "object", additionalProperties: object({ at: date }) }) as object;
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(Object.keys(value)).toEqual(["__proto__"]);
});

/**
 * Creates definitions that each refer to the next one twice. Without a limit, printing or comparing them would take
 * forever.
 */
function doubling(last: object, twice: (next: object) => object): Record<string, unknown> {
  const count = 40;
  const $defs = Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`d${i}`, i + 1 < count ? twice({ $ref: `#/$defs/d${i + 1}` }) : last]),
  );
  return { $ref: "#/$defs/d0", $defs };
}

test.each([
  ["choices", (next: object) => ({ anyOf: [next, next] })],
  ["all of several", (next: object) => ({ allOf: [next, next] })],
])("a stranger's schema of %s inside one another is left after a time", (_, twice) => {
  expect(valueOf(5, doubling({ type: "null" }, twice))).toBe(5);
});
