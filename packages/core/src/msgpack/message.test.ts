import { describe, expect, it } from "vitest";
import { MAX_DEPTH } from "../fixed-limits.js";
import { unpack, pack } from "./pack.js";

const fromHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(" ", ""), "hex"));
const nested = (depth: number, inner: unknown): unknown => (depth === 0 ? inner : nested(depth - 1, [inner]));

describe("unpack", () => {
  it("reads payloads from chunks of a buffer, whose offsets differ", () => {
    const values = [
      { a: 1.5, b: "text" },
      [70_000, -70_000, (1n << 60n) + 1n],
      "é".repeat(40),
      new Uint8Array([1, 2, 3]),
    ];
    const payloads = values.map(pack);
    const joined = new Uint8Array(Buffer.concat(payloads));
    let at = 0;
    const chunks = payloads.map(({ length }) => joined.subarray(at, (at += length)));
    for (const all of [chunks, payloads, chunks]) {
      expect(all.map((each) => unpack(each, 0, each.length))).toEqual(values);
    }
    const shifted = new Uint8Array([0, ...pack(values[0])]);
    expect(unpack(shifted.subarray(1), 0, shifted.length - 1)).toEqual(values[0]);
  });

  it.each([
    ["an array", "92 01", "02"],
    ["a map", "81 a1 61", "01"],
    ["a number", "cb 3f f8 00 00", "00 00 00 00"],
    ["text", "a3 61 62", "63"],
    ["bytes", "c4 03 01 02", "03"],
    ["a date", "d6 ff 00 00", "00 00"],
  ])("does not complete %s with the bytes behind it", (_, hex, behind) => {
    const whole = fromHex(`${hex} ${behind}`);
    expect(() => unpack(whole, 0, whole.length)).not.toThrow();
    const chunk = whole.subarray(0, fromHex(hex).length);
    expect(() => unpack(chunk, 0, chunk.length)).toThrow(Error);
  });

  it("C55 takes values nested as deep as allowed, and none deeper", () => {
    const deepest = pack(nested(MAX_DEPTH, 1));
    expect(unpack(deepest, 0, deepest.length)).toEqual(nested(MAX_DEPTH, 1));
    const deeper = new Uint8Array([0x91, ...deepest]);
    expect(() => unpack(deeper, 0, deeper.length)).toThrow("nested deeper than 100 levels");
    expect(() => pack(nested(MAX_DEPTH + 1, 1))).toThrow("nested deeper than 100 levels");
  });

  it.each([
    ["an array", "dd 01ffffff 01"],
    ["an array of 30 million and nothing else", "dd 01c9c380"],
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
