import { expect, it } from "vitest";
import { z } from "zod";
import { Mode, run } from "../codec/shape.js";
import { external } from "../codec/zod-schema.js";
import { RpcError } from "../errors.js";
import { MemoryBudget } from "../memory-budget.js";
import { pack, unpack } from "./pack.js";
import { allowance, countSteps } from "./reader.js";
import { type DecodeBudget, decodeWithin } from "./decode-within.js";

const budgetOf = (room: number): Required<DecodeBudget> => ({
  max: room,
  room,
  decodedBytes: 0,
  refusal: (what) => new RpcError("resource_exhausted", `${room}: ${what}`),
});

const bytes = pack(Array.from({ length: 100 }, (_, i) => i));
const decode = (given: Uint8Array, start: number, end: number): unknown => unpack(given, start, end);
const plain = { encode() {}, decode };

/** Decodes another message, within `inner`, ahead of its own. */
function nesting(inner: DecodeBudget): typeof plain {
  return {
    encode() {},
    decode(given, start, end) {
      decodeWithin(inner, plain, bytes, 0, bytes.length);
      return decode(given, start, end);
    },
  };
}

it("counts a message that is decoded within another for both", () => {
  const inner = budgetOf(1_000_000);
  const outer = budgetOf(1_000_000);
  decodeWithin(outer, nesting(inner), bytes, 0, bytes.length);
  expect(inner.decodedBytes).toBeGreaterThan(100 * 32);
  expect(outer.decodedBytes).toBe(2 * inner.decodedBytes - bytes.length);
  expect(allowance.values).toBe(Number.POSITIVE_INFINITY);
});

it.each([
  ["of the outer message", 5_000, 1_000_000],
  ["of the inner message", 1_000_000, 1_000],
])("refuses a message within another beyond the budget %s", (_, outer, inner) => {
  const decoding = (): unknown => decodeWithin(budgetOf(outer), nesting(budgetOf(inner)), bytes, 0, bytes.length);
  expect(decoding).toThrow(RpcError);
  expect(allowance.values).toBe(Number.POSITIVE_INFINITY);
  expect(decodeWithin(budgetOf(1_000_000), plain, bytes, 0, bytes.length)).toHaveLength(100);
});

it("leaves the budget of the outer message in force when the inner one is refused and that is ignored", () => {
  const ignoring = {
    encode() {},
    decode(given: Uint8Array, start: number, end: number): unknown {
      try {
        decodeWithin(budgetOf(1_000), plain, bytes, 0, bytes.length);
      } catch {
        // As code of an application may.
      }
      return decode(given, start, end);
    },
  };
  expect(() => decodeWithin(budgetOf(2_000), ignoring, bytes, 0, bytes.length)).toThrow("2000: a message of so many");
});

it("decodes within a budget without a limit", () => {
  const budget = budgetOf(Number.POSITIVE_INFINITY);
  decodeWithin(budget, plain, bytes, 0, bytes.length);
  expect(budget.decodedBytes).toBeGreaterThan(100 * 32);
  expect(allowance.values).toBe(Number.POSITIVE_INFINITY);
});

it("reports the bytes of a message to the budget that it was decoded within", () => {
  const budget = new MemoryBudget(1_000_000, "most");
  decodeWithin(budget, plain, bytes, 0, bytes.length);
  const { decodedBytes } = budget;
  decodeWithin(budgetOf(1_000_000), nesting(budgetOf(1_000_000)), bytes, 0, bytes.length);
  expect(budget.decodedBytes).toBe(decodedBytes);
});

it("refuses a message that takes infinitely many steps, also within a budget without a limit", () => {
  const endless = { encode() {}, decode: () => countSteps(Number.POSITIVE_INFINITY) };
  const decoding = (): unknown => decodeWithin(budgetOf(Number.POSITIVE_INFINITY), endless, bytes, 0, bytes.length);
  expect(decoding).toThrow("takes too long to validate");
});

it("charges a value that zod parses as a whole by the values in it", () => {
  const list = external(z.array(z.number()));
  const decoding = (length: number): unknown => {
    const value = Array.from({ length }, () => 1);
    const parsed = { encode() {}, decode: () => run(list, value, Mode.Given).issues };
    return decodeWithin(budgetOf(102_400), parsed, bytes, 0, bytes.length);
  };
  expect(decoding(1_500)).toEqual([]);
  expect(() => decoding(1_700)).toThrow("takes too long to validate");
});
