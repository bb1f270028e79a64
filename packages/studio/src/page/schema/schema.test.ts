import { parser } from "@lezer/json";
import type { JsonSchema } from "@quicrpc/services";
import { describe, expect, it } from "vitest";
import { meantChoice, mismatchesOf } from "./check.js";
import { proposalsAt } from "./complete.js";
import { exampleOf } from "./example.js";
import { type JsonNode, jsonTree } from "./json-tree.js";

const date = { type: "string", format: "date-time", "x-quicrpc-type": "date" };
const big = { type: "integer", "x-quicrpc-type": "bigint" };
const bytes = { type: "string", contentEncoding: "base64", "x-quicrpc-type": "bytes" };
const object = (properties: object, required: readonly string[] = Object.keys(properties)): JsonSchema => ({
  type: "object",
  properties,
  required,
});
const payment: JsonSchema = {
  oneOf: [
    object({ by: { const: "card" }, number: { type: "string", minLength: 4 } }),
    object({ by: { const: "cash" } }),
  ],
};
const order: JsonSchema = {
  ...object(
    {
      id: { type: "string" },
      at: date,
      total: big,
      state: { enum: ["new", "paid"] },
      payment,
      lines: { type: "array", items: { $ref: "#/$defs/line" } },
    },
    ["id", "at", "total"],
  ),
  $defs: {
    line: object({ name: { type: "string" }, count: { type: "integer", minimum: 1 }, next: { $ref: "#/$defs/line" } }, [
      "name",
      "count",
    ]),
  },
};

function read(text: string): JsonNode {
  return jsonTree(parser.parse(text), text) as JsonNode;
}

describe("an example", () => {
  it("has all that is required, and nothing else", () => {
    const now = new Date(0);
    expect(exampleOf(order, order, now)).toEqual({ id: "", at: "1970-01-01T00:00:00.000Z", total: "0" });
    expect(exampleOf({ $ref: "#/$defs/line" }, order)).toEqual({ name: "", count: 1 });
    expect(exampleOf(payment, payment)).toEqual({ by: "card", number: "xxxx" });
    expect(exampleOf({ type: "string", allOf: [{ pattern: "a" }, { pattern: "b" }] }, {})).toBe("");
    expect(exampleOf({ allOf: [order, object({ more: bytes })] }, order, now)).toMatchObject({ id: "", more: "" });
  });

  it("of a schema that never ends, ends", () => {
    const endless: JsonSchema = { ...object({ next: { $ref: "#" } }) };
    expect(JSON.stringify(exampleOf(endless, endless))).toContain("null");
    expect(exampleOf({ $ref: "#/$defs/a" }, { $defs: { a: { $ref: "#/$defs/a" } } })).toBeNull();
  });

  it("fits its own schema", () => {
    for (const schema of [order, payment, object({ bytes, list: { type: "array", minItems: 2, items: date } })]) {
      expect(mismatchesOf(read(JSON.stringify(exampleOf(schema, schema))), schema, schema)).toEqual([]);
    }
  });
});

describe("a text", () => {
  const at = (text: string, schema = order): string[] =>
    mismatchesOf(read(text), schema, schema).map(({ from, to, message }) => `${text.slice(from, to)} ${message}`);

  it.each([
    [
      '{"id":1,"at":"soon","total":1.5}',
      ["1 It takes a string.", '"soon" It takes a time', "1.5 It takes a whole number"],
    ],
    ['{"id":"a","at":"2024-04-31T00:00:00+02:00","total":"1"}', ['"2024-04-31T00:00:00+02:00" It takes a time']],
    ['{"id":"a","at":"2024-02-30","total":"1"}', ['"2024-02-30" It takes a time']],
    ['{"id":"a"}', ["{ at, total are missing."]],
    ['{"id":"a","at":"2026-01-01T00:00:00Z","total":"9","state":"lost"}', ['"lost" It is one of "new", "paid".']],
    ['{"id":"a","at":"2026-01-01T00:00:00Z","total":9,"colour":1}', ['"colour" There is no member "colour".']],
    ['{"id":"a","at":"2026-01-01T00:00:00Z","total":9,"lines":[{"name":"b","count":0}]}', ["0 It takes 1 or more."]],
    [
      '{"id":"a","at":"2026-01-01T00:00:00Z","total":9,"payment":{"by":"card","number":"1"}}',
      ['"1" It takes 4 characters or more.'],
    ],
    ['{"id":"a","at":"2026-01-01T00:00:00Z","total":9,"payment":{"by":"cash"}}', []],
    ["[]", ["[] It takes an object."]],
  ])("%s", (text, expected) => {
    const found = at(text);
    expect(found).toHaveLength(expected.length);
    for (const [index, message] of expected.entries()) expect(found[index]).toContain(message);
  });

  it.each<[string, JsonSchema, string, string[]]>([
    ["a step", { type: "number", multipleOf: 0.1 }, "0.3", []],
    ["a step", { type: "number", multipleOf: 0.1 }, "0.35", ["It takes a multiple of 0.1."]],
    ["an address", { type: "string", format: "uri" }, '"nowhere"', ["It takes a URL."]],
    ["an address", { type: "string", format: "uri" }, '"https://a.example"', []],
    ["a set", { "x-quicrpc-type": "set", uniqueItems: true, items: {} }, "[1,2,1]", ["It is there twice."]],
    ["a list", { type: "array", items: {} }, "[1,1]", []],
    ["a bigint", { const: "5", "x-quicrpc-type": "bigint" }, "5", []],
    ["a bigint", { const: "5", "x-quicrpc-type": "bigint" }, "6", ['It is "5".']],
    ["a bigint", { enum: ["5", "6"], "x-quicrpc-type": "bigint" }, "7", ['It is one of "5", "6".']],
    ["a pair", { type: "array", prefixItems: [{}, {}] }, "[1,2,3]", ["It takes 2 items at most."]],
    [
      "a pair of which one may be left out",
      { prefixItems: [{}, {}], items: false, minItems: 1, maxItems: 2 },
      "[1]",
      [],
    ],
    ["text or null", { type: ["string", "null"], minLength: 2 }, "null", []],
    ["text or null", { type: ["string", "null"], minLength: 2 }, '"a"', ["It takes 2 characters or more."]],
    ["text or null", { type: ["string", "null"] }, "[]", ["It takes a string."]],
    ["a pair and more", { type: "array", prefixItems: [{}], items: { type: "null" } }, "[1,2]", ["It takes null."]],
    ["what is never", { not: {} }, "1", ["It takes nothing."]],
    ["an object", object({ a: {} }), '{"a":1,"a":2}', ['"a" is there twice.']],
    [
      "a map by numbers",
      { "x-quicrpc-type": "map", items: { prefixItems: [{ type: "integer" }, { type: "string" }] } },
      '{"1":"a","b":"c","":"d"}',
      ["It takes an integer.", "It takes an integer."],
    ],
    [
      "a map by times",
      { "x-quicrpc-type": "map", items: { prefixItems: [date, {}] } },
      '{"2026-01-01T00:00:00Z":1,"b":2}',
      ['It takes a time, as "2026-01-31T12:00:00Z".'],
    ],
    [
      "a record",
      { type: "object", propertyNames: { enum: ["a", "b"] }, additionalProperties: { type: "number" } },
      '{"a":1,"c":2}',
      ["It is one of a, b."],
    ],
    ["a record", { type: "object", propertyNames: { minLength: 2 } }, '{"a":1}', ["It takes 2 characters or more."]],
  ])("%s: %j, %s", (_, schema, text, expected) => {
    expect(mismatchesOf(read(text), schema, schema).map(({ message }) => message)).toEqual(expected);
  });

  it("is of the choice that it fits best", () => {
    const choices = payment["oneOf"] as readonly unknown[];
    expect(meantChoice(read('{"by":"cash"}'), choices, payment)).toBe(1);
    expect(meantChoice(read('{"by":"card","number":"1"}'), choices, payment)).toBe(0);
    expect(meantChoice(read("null"), [{ type: "string" }, { type: "null" }], {})).toBe(1);
  });

  it("may have the members of every part", () => {
    const both: JsonSchema = { allOf: [object({ a: big }), object({ b: date })] };
    expect(at('{"a":1,"b":"2026-01-01T00:00:00Z"}', both)).toEqual([]);
  });
});

describe("proposals", () => {
  const labels = (text: string): string[] => {
    const position = text.indexOf("|");
    const plain = text.replace("|", "");
    return proposalsAt(read(plain), position, order, order)?.proposals.map(({ label }) => label) ?? [];
  };

  it.each([
    ["{|}", ["id", "at", "total", "state", "payment", "lines"]],
    ['{"id":"a",|}', ["at", "total", "state", "payment", "lines"]],
    ['{"state":|}', ['"new"', '"paid"']],
    ['{"state":"n|"}', ['"new"', '"paid"']],
    ['{"lines":[{|}]}', ["name", "count", "next"]],
    ['{"payment":{"by":|}}', ['"card"', '"cash"']],
  ])("%s", (text, expected) => {
    expect(labels(text)).toEqual(expected);
  });
});
