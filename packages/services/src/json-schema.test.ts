import { expect, it } from "vitest";
import { branchesOf, isOfType, itemOf, keyOf, memberOf, resolved } from "./json-schema.js";

const text = { type: "string" };
const root = {
  $defs: { "a/b~c": text, loop: { $ref: "#/$defs/loop" }, tree: { anyOf: [text, { $ref: "#/$defs/tree" }] } },
};

it.each([
  ["#/$defs/a~1b~0c", text],
  ["#", root],
  ["#/$defs/loop", undefined],
  ["#/$defs/toString", undefined],
  ["other.json", undefined],
])("follows the reference %s", ($ref, target) => {
  expect(resolved({ $ref }, root)).toBe(target);
});

it("lists the schemas that a value may be of, however they refer to themselves", () => {
  const union = { anyOf: [text, { allOf: [{ type: "object" }] }] };
  expect(branchesOf(union, {})).toEqual([union, text, union.anyOf[1], { type: "object" }]);
  expect(branchesOf({ type: ["string", "null"] }, {}).slice(1)).toEqual([text, { type: "null" }]);
  expect(branchesOf({ $ref: "#/$defs/tree" }, root).length).toBeGreaterThan(2);
});

it("finds the schemas of members, keys and items", () => {
  const map = { "x-quicrpc-type": "map", items: { prefixItems: [{ type: "integer" }, text] } };
  expect([keyOf(map), memberOf(map, "1")]).toEqual([{ type: "integer" }, text]);
  const object = { properties: { a: text }, additionalProperties: { type: "null" } };
  expect([memberOf(object, "a"), memberOf(object, "toString")]).toEqual([text, { type: "null" }]);
  const tuple = { prefixItems: [text], items: { type: "null" } };
  expect([itemOf(tuple, 0), itemOf(tuple, 1)]).toEqual([text, { type: "null" }]);
});

it.each([
  [1, "integer", true],
  [1.5, "integer", false],
  [[], "object", false],
  [null, ["string", "null"], true],
  [1, ["string", "null"], false],
  [1, undefined, true],
])("%j is of type %j: %s", (json, type, expected) => {
  expect(isOfType(json, type)).toBe(expected);
});
