import { expect, it } from "vitest";
import { fromJson, canonicalText, toJson } from "./recording.js";

const VALUES = [
  undefined,
  null,
  [true, "text", 0.5, -0, Number.NaN, Number.POSITIVE_INFINITY],
  { big: 2n ** 70n, at: new Date(0), never: new Date(Number.NaN), bytes: Uint8Array.of(0, 255) },
  new Map<unknown, unknown>([[{ id: 1n }, new Set([[undefined], "a"])]]),
  { $date: "not one" },
  { $: "date", value: "not one", inner: { $: undefined } },
  JSON.parse('{"constructor":2}'),
];

it.each(VALUES)("a value is the same through a file: %o", (value) => {
  const json: unknown = JSON.parse(JSON.stringify(toJson(value)));
  expect(fromJson(json as never)).toEqual(value);
  expect(Object.getPrototypeOf(fromJson(json as never) ?? {})).toBe(Object.getPrototypeOf(value ?? {}));
});

it("the order of members makes no difference, that of items does", () => {
  expect(canonicalText(toJson({ a: { b: 1, c: 2 }, d: 3 }))).toBe(canonicalText(toJson({ d: 3, a: { c: 2, b: 1 } })));
  expect(canonicalText(toJson([1, 2]))).not.toBe(canonicalText(toJson([2, 1])));
});

it("leaves out __proto__, as the wire does", () => {
  expect(fromJson(toJson(JSON.parse('{"__proto__":{"a":1},"b":2}')))).toEqual({ b: 2 });
});

it("says what it does not keep, and what it has not made", () => {
  expect(() => toJson({ f: () => {} })).toThrow(new TypeError("function at f"));
  expect(() => fromJson({ $other: 1 })).toThrow("$other is not a known type of marked JSON");
});
