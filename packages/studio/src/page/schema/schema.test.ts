import { parser } from "@lezer/json";
import type { JsonSchema } from "@quicrpc/services";
import { describe, expect, it } from "vitest";
import { misfitsOf } from "./check.js";
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
  });

  it("of a schema that never ends, ends", () => {
    const endless: JsonSchema = { ...object({ next: { $ref: "#" } }) };
    expect(JSON.stringify(exampleOf(endless, endless))).toContain("null");
    expect(exampleOf({ $ref: "#/$defs/a" }, { $defs: { a: { $ref: "#/$defs/a" } } })).toBeNull();
  });

  it("fits its own schema", () => {
    for (const schema of [order, payment, object({ bytes, list: { type: "array", minItems: 2, items: date } })]) {
      expect(misfitsOf(read(JSON.stringify(exampleOf(schema, schema))), schema, schema)).toEqual([]);
    }
  });
});

describe("a text", () => {
  const at = (text: string, schema = order): string[] =>
    misfitsOf(read(text), schema, schema).map(({ from, to, message }) => `${text.slice(from, to)} ${message}`);

  it.each([
    [
      '{"id":1,"at":"soon","total":1.5}',
      ["1 It takes a string.", '"soon" It takes a time', "1.5 It takes a whole number"],
    ],
    ['{"id":"a"}', ["{ at, total are missing."]],
    ['{"id":"a","at":"2026-01-01","total":"9","state":"lost"}', ['"lost" It is one of "new", "paid".']],
    ['{"id":"a","at":"2026-01-01","total":9,"colour":1}', ['"colour" There is no member "colour".']],
    ['{"id":"a","at":"2026-01-01","total":9,"lines":[{"name":"b","count":0}]}', ["0 It takes 1 or more."]],
    [
      '{"id":"a","at":"2026-01-01","total":9,"payment":{"by":"card","number":"1"}}',
      ['"1" It takes 4 characters or more.'],
    ],
    ['{"id":"a","at":"2026-01-01","total":9,"payment":{"by":"cash"}}', []],
    ["[]", ["[] It takes an object."]],
  ])("%s", (text, expected) => {
    const found = at(text);
    expect(found).toHaveLength(expected.length);
    for (const [index, message] of expected.entries()) expect(found[index]).toContain(message);
  });

  it("may have the members of every part", () => {
    const both: JsonSchema = { allOf: [object({ a: big }), object({ b: date })] };
    expect(at('{"a":1,"b":"2026-01-01"}', both)).toEqual([]);
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
