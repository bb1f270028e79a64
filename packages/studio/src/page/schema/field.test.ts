import { parser } from "@lezer/json";
import { describe, expect, it } from "vitest";
import { choiceLabels, fieldOf, formMembersOf, fieldHintOf, isEditable, newName } from "./field.js";
import { type JsonNode, jsonTree } from "./json-tree.js";

const text = { type: "string" };
const read = (json: string): JsonNode => jsonTree(parser.parse(json), json) as JsonNode;

describe("a field", () => {
  it.each([
    [{ type: "integer", "x-quicrpc-type": "bigint" }, "bigint"],
    [{ type: "string", "x-quicrpc-type": "date" }, "date"],
    [{ type: "array", "x-quicrpc-type": "map" }, "object"],
    [{ type: "array", "x-quicrpc-type": "set" }, "array"],
    [{ const: 1 }, "const"],
    [{ const: "1", "x-quicrpc-type": "bigint" }, "const"],
    [{ enum: ["1", "2"], "x-quicrpc-type": "bigint" }, "enum"],
    [{ type: "string", enum: ["a"] }, "enum"],
    [{ anyOf: [text, { type: "null" }] }, "choice"],
    [{ type: ["string", "null"] }, "choice"],
    [{ $ref: "#/$defs/name" }, "text"],
    [{ $ref: "#/$defs/none" }, "any"],
    [{}, "any"],
    [true, "any"],
    [{ allOf: [text, { minLength: 2 }] }, "any"],
    [{ allOf: [{ $ref: "#" }] }, "any"],
    [{ ...text, allOf: [{ pattern: "a" }, { pattern: "b" }] }, "text"],
  ])("of %j is %s", (schema, kind) => {
    expect(fieldOf(schema, { ...(schema as object), $defs: { name: text } }).kind).toBe(kind);
  });

  it("of several objects has the members of all", () => {
    const parts = ["a", "b"].map((name) => ({ type: "object", properties: { [name]: text }, required: [name] }));
    const { kind, schema } = fieldOf({ allOf: parts }, {});
    expect(kind).toBe("object");
    expect(formMembersOf(schema)).toEqual({ names: ["a", "b"], required: ["a", "b"], others: undefined });
  });

  it("of a record has the names that it requires, and others", () => {
    const record = { type: "object", required: ["a"], propertyNames: { enum: ["a", "b"] }, additionalProperties: text };
    expect(formMembersOf(record)).toEqual({ names: ["a"], required: ["a"], others: text });
    expect(newName(read('{"a":""}'), record, record)).toBe("b");
  });

  it("gives new entries a key of their own", () => {
    const map = { "x-quicrpc-type": "map", items: { prefixItems: [{ type: "integer" }, text] } };
    expect(newName(read('{"1":""}'), map, map)).toBe("2");
    expect(newName(read('{"key1":""}'), { additionalProperties: text }, {})).toBe("key2");
  });

  it("edits what is of its form alone", () => {
    expect(isEditable("text", read("7"))).toBe(true);
    expect(isEditable("text", read("[]"))).toBe(false);
    expect(isEditable("object", read("[]"))).toBe(false);
    expect(isEditable("choice", read("[]"))).toBe(true);
  });

  it("names choices by what tells them apart", () => {
    const card = { type: "object", properties: { by: { const: "card" }, number: text } };
    const long = { type: "object", properties: Object.fromEntries("abcdefgh".split("").map((name) => [name, text])) };
    expect(choiceLabels([card, text, { type: "null" }, { title: "Other", type: "object" }], {})).toEqual([
      'by: "card"',
      "string",
      "null",
      "Other",
    ]);
    expect(choiceLabels([long], {})[0]).toHaveLength(41);
  });

  it.each([
    [{ type: "string", minLength: 1, maxLength: 20 }, "text, 1 to 20 characters"],
    [{ type: "integer", minimum: 1 }, "whole number, 1 or more"],
    [{ type: "number", exclusiveMaximum: 1, multipleOf: 0.1 }, "number, less than 1, a multiple of 0.1"],
    [{ type: "array", minItems: 2, maxItems: 2 }, "2 items"],
    [{ type: "string", "x-quicrpc-type": "date" }, "time"],
  ])("says of %j: %s", (schema, hint) => {
    expect(fieldHintOf(fieldOf(schema, schema))).toBe(hint);
  });
});
