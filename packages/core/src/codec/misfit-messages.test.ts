import { expect, test } from "vitest";
import { exactSize, maxSize, minSize } from "./check.js";
import { parseOrThrow } from "./codec.js";
import { array } from "./containers.js";
import { object } from "./object.js";
import { any, bytes, string } from "./scalars.js";
import { Mode, type Shape } from "./shape.js";
import { optional } from "./wrappers.js";

const note = object({ title: string(), text: optional(string()) });
/** A shape that holds itself, as compiled schemas do. */
const chain: Shape = object({
  next: optional({ form: { kind: "any" }, run: (payload, mode) => chain.run(payload, mode) }),
});
const circular: { next?: unknown } = {};
circular.next = circular;

test.each<[string, Shape, unknown, string]>([
  [
    "a misspelt field",
    note,
    { titel: "a", x: 1 },
    "expected string, received undefined (undeclared: titel, x) at title",
  ],
  ["a missing field", note, { text: "a" }, "expected string, received undefined at title"],
  ["a missing field of any type", object({ a: any() }), { b: 1 }, "required, but missing (undeclared: b) at a"],
  ["a wrong field next to an undeclared one", note, { title: 1, x: 1 }, "expected string, received number at title"],
  ["a date", note, { title: new Date(0) }, "expected string, received Date at title"],
  ["a promise", note, { title: Promise.resolve("a") }, "expected string, received Promise: await it first at title"],
  ["a map", note, new Map(), "expected string, received undefined at title"],
  ["an object", string(), {}, "expected string, received object"],
  ["too short a text", string(minSize(1)), "", "too small: expected at least 1 character"],
  ["too long a list", array(string(), maxSize(1)), ["a", "b"], "too big: expected at most 1 item"],
  ["too many bytes", array(bytes(), exactSize(2)), [], "too small: expected exactly 2 items"],
  [
    "a value that refers to itself",
    chain,
    circular,
    "the value is nested deeper than 100 levels, or referring to itself",
  ],
])("%s is refused with what it is", (_, shape, value, message) => {
  expect(() => parseOrThrow(shape, value, Mode.Given)).toThrow(
    expect.objectContaining({ code: "invalid_argument", message }),
  );
});
