// Schemas from the reflection of an untrusted peer.
import { expect, test } from "vitest";
import { schemaText } from "./schema-text.js";

test("whatever a schema names as a type reaches a terminal escaped", () => {
  const nasty = "\u001b]0;owned\u0007";
  const shown = "\\u{1b}]0;owned\\u{7}";
  expect(schemaText({ type: nasty })).toBe(shown);
  expect(schemaText({ type: [nasty, "null"] })).toBe(`${shown} | null`);
  expect(schemaText({ "x-quicrpc-type": "constructor", type: "string" })).toBe("string");
});

test("a text with several patterns is a string", () => {
  expect(schemaText({ type: "string", allOf: [{ pattern: "a" }, { pattern: "b" }] })).toBe("string");
});

test("the text of definitions that refer to one another many times has an end", () => {
  const most = 5;
  const many = (name: string): object => ({
    prefixItems: Array.from({ length: 100 }, () => ({ $ref: `#/$defs/${name}` })),
  });
  const $defs = Object.fromEntries(
    Array.from({ length: most + 1 }, (_, i) => [`d${i}`, i < most ? many(`d${i + 1}`) : { type: "null" }]),
  );
  const text = schemaText({ $ref: "#/$defs/d0", $defs });
  expect(text.length).toBeLessThan(1_100_000);
  expect(text).toContain("null, null");
  expect(text).toContain("…");
});

test("a type that refers to itself is named", () => {
  const $defs = { Tree: { type: "object", properties: { left: { $ref: "#/$defs/Tree" } } } };
  expect(schemaText({ type: "array", items: { $ref: "#/$defs/Tree" }, $defs })).toBe("Array<Tree>");
});

test("a type that refers to itself and has no name is written once", () => {
  const $defs = { __schema0: { anyOf: [{ type: "null" }, { type: "array", items: { $ref: "#/$defs/__schema0" } }] } };
  const list = { type: "array", items: { $ref: "#/$defs/__schema0" }, $defs };
  expect(schemaText(list)).toBe("Array<null | Array<…>>");
});
