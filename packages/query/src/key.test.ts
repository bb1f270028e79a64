import { hashKey } from "@tanstack/query-core";
import { defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { json } from "@quicrpc/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { methodKey, withInput } from "./methods.js";

const method = defineMethod({ name: "test.v1.Keys", id: 1 }, "unary", "get", { id: 1, input: uncheckedCodec() });
const key = methodKey(undefined, method);
const hash = (input: unknown): string => hashKey(withInput(key, input));

/** Generates nested inputs with values that a zod schema may require and JSON cannot represent. */
const input = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, Number.NaN, -0, Number.POSITIVE_INFINITY),
    fc.integer(),
    fc.string(),
    fc.bigInt(),
    fc.date(),
    fc.uint8Array(),
    fc.array(tie("value")),
    // The codec leaves out keys that a copy would take for a prototype.
    fc.dictionary(
      fc.string().filter((name) => name !== "__proto__"),
      tie("value"),
    ),
    fc.uniqueArray(fc.tuple(fc.integer(), tie("value")), { selector: ([at]) => at }).map((pairs) => new Map(pairs)),
    fc.uniqueArray(fc.integer()).map((items) => new Set(items)),
  ),
})).value;

describe("keys", () => {
  it("are plain JSON, of which the codec gets the input back", () => {
    const plainJson = fc.property(input, (value) => {
      const made = withInput(key, value);
      expect(JSON.parse(JSON.stringify(made))).toEqual(made);
      const bytes = new TextEncoder().encode(JSON.stringify(made[2]));
      expect(json.decode(bytes, 0, bytes.length)).toEqual(value);
    });
    fc.assert(plainJson);
  });

  it("do not depend on the order of properties, nor on those that are undefined", () => {
    expect(hash({ a: 1n, b: new Date(0) })).toBe(hash({ b: new Date(0), c: undefined, a: 1n }));
  });

  it.each([
    [1n, 1],
    [1n, "1"],
    [new Date(0), new Date(0).toISOString()],
    [new Uint8Array([1]), [1]],
    [new Uint8Array([1]), new Uint8Array([2])],
    [new Map([[1, 2]]), new Map([[1, 3]])],
    [new Set([1]), new Set([2])],
    [Number.NaN, null],
    [{ $date: "x" }, new Date(0)],
  ])("tell %o from %o", (one, other) => {
    expect(hash(one)).not.toBe(hash(other));
  });

  it("begin with the scope, service and method", () => {
    expect(withInput(methodKey("eu", method), { id: 5n })).toEqual([
      "eu",
      "test.v1.Keys",
      "get",
      { id: { $bigint: "5" } },
    ]);
    expect(withInput(key, undefined)).toEqual(["test.v1.Keys", "get"]);
  });
});
