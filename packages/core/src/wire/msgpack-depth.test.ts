import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_DEPTH } from "../limits.js";
import { pack, unpack } from "./msgpack.js";
import { requireShallow } from "./msgpack-depth.js";

const fromHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex"));
const nested = (depth: number, inner: unknown): unknown => (depth === 0 ? inner : nested(depth - 1, [inner]));

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array || value instanceof Date) return 0;
  const depths = Object.values(value).map(depthOf);
  // An empty array or object is a value like any other.
  return depths.length === 0 ? 0 : 1 + Math.max(...depths);
}

describe("requireShallow", () => {
  it("C55 counts the levels of any value, whatever stands in them", () => {
    const anything = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 6 },
        fc.string({ maxLength: 40 }),
        fc.string({ minLength: 300, maxLength: 70_000, size: "max" }),
        fc.double(),
        fc.integer(),
        fc.bigInt(-(2n ** 63n), 2n ** 64n - 1n),
        fc.boolean(),
        fc.constant(null),
        fc.date({ noInvalidDate: true }),
        fc.uint8Array({ maxLength: 300 }),
        fc.array(tie("value"), { maxLength: 20 }),
        fc.dictionary(fc.string(), tie("value"), { maxKeys: 20 }),
      ),
    })).value;
    fc.assert(
      fc.property(anything, (value) => {
        const bytes = pack(value);
        const depth = depthOf(value);
        requireShallow(bytes, 0, bytes.length, depth);
        if (depth > 0) expect(() => requireShallow(bytes, 0, bytes.length, depth - 1)).toThrow("nested deeper");
      }),
      { numRuns: 300 },
    );
  });

  it("C55 ends on whatever bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          requireShallow(bytes, 0, bytes.length, 10);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
    );
  });
});

describe("unpack", () => {
  it("C55 takes values nested as deep as allowed, and none deeper", () => {
    const deepest = pack(nested(MAX_DEPTH, 1));
    expect(unpack(deepest, 0, deepest.length)).toEqual(nested(MAX_DEPTH, 1));
    const deeper = pack(nested(MAX_DEPTH + 1, 1));
    expect(() => unpack(deeper, 0, deeper.length)).toThrow("nested deeper than 100 levels");
  });

  it.each([
    ["an array", "dd 01ffffff 01"],
    ["a map", "df 01ffffff 01"],
    ["text", "db 01ffffff 01"],
    ["bytes", "c6 01ffffff 01"],
    ["an extension", "c9 01ffffff 01"],
    ["arrays in arrays", "dcffff".repeat(50)],
  ])("C55 spends no memory on the declared length of %s", (_, hex) => {
    const bytes = fromHex(hex);
    const before = process.memoryUsage();
    for (let i = 0; i < 100; i++) expect(() => unpack(bytes, 0, bytes.length)).toThrow(Error);
    const after = process.memoryUsage();
    expect(after.heapUsed - before.heapUsed).toBeLessThan(16 * 1024 * 1024);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(16 * 1024 * 1024);
  });
});
