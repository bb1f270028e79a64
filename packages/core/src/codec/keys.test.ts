import { describe, expect, it, vi } from "vitest";
import { pack } from "../msgpack/pack.js";
import { allowance, readMapHeader, type Reader, readWhole } from "../msgpack/reader.js";
import { readInt } from "../msgpack/number.js";
import { Keys } from "./keys.js";

const MISFIT = "a value does not fit its schema";

/** The keys that a reader finds in `bytes`: the index of each, with its value. */
function found(keys: Keys, bytes: Uint8Array): (readonly [number, number])[] {
  return readWhole(new Uint8Array([1, 2, 3, ...bytes, 4]), 3, bytes.length + 3, (r: Reader, p) => {
    const entries: (readonly [number, number])[] = [];
    for (r.left = readMapHeader(r, p); r.left > 0; r.left--) {
      const index = keys.find(r, r.position, r.left);
      if (index < 0) break;
      entries.push([index, readInt(r, r.position + keyBytes(index))]);
    }
    return entries;
  });
}

const names = ["a", "bc", "long ".repeat(10), "ü".repeat(20)];
const keyBytes = (index: number): number => [2, 3, 52, 42][index] ?? 0;

describe("the keys of an object", () => {
  it.each([
    ["in their order", [0, 1, 2, 3]],
    ["in another", [3, 1, 0, 2]],
    ["more than once", [1, 0, 1]],
  ])("are found %s, the first time and when their order is known", (_name, order) => {
    const keys = new Keys(names);
    // As a map, which may have a key twice.
    const bytes = new Uint8Array([0x80 | order.length, ...order.flatMap((i) => [...pack(names[i]), i])]);
    for (let round = 0; round < 3; round++) expect(found(keys, bytes)).toEqual(order.map((i) => [i, i]));
  });

  it("are found without their text where they follow each other as before", () => {
    const keys = new Keys(names);
    const bytes = pack({ bc: 1, a: 2 });
    found(keys, bytes);
    const lookUp = vi.spyOn(Map.prototype, "get");
    found(keys, bytes);
    const lookedUp = lookUp.mock.calls.length;
    lookUp.mockRestore();
    // The first key follows the last of the object before, which is learnt then.
    expect(lookedUp).toBe(1);
  });

  it("are found among others, whose values are passed over and count for nothing", () => {
    const other = [1, { y: "long ".repeat(100) }];
    const value = { x: other, a: 1, z: null, bc: 2, "": other };
    // Those of the object and, once, of what is passed over.
    allowance.values = 11 + 6;
    try {
      expect(found(new Keys(names), pack(value))).toEqual([
        [0, 1],
        [1, 2],
      ]);
    } finally {
      allowance.values = Number.POSITIVE_INFINITY;
    }
  });

  it("are alone where they are strict", () => {
    expect(() => found(new Keys(names, true), pack({ a: 1, c: 1 }))).toThrow(MISFIT);
    expect(found(new Keys(names, true), pack({ bc: 2, a: 1 }))).toEqual([
      [1, 2],
      [0, 1],
    ]);
  });

  it("are in their shortest form, as their reader compares them", () => {
    expect(() => found(new Keys(names), new Uint8Array([0x81, 0xd9, 1, 0x61, 1]))).toThrow(MISFIT);
  });

  it("end with the message", () => {
    const withoutValue = new Uint8Array([0x82, 0xa1, 0x61, 1]);
    expect(() => found(new Keys(names), withoutValue)).toThrow(MISFIT);
    expect(() => found(new Keys(names), new Uint8Array([0x81, 0xa5, 0x61]))).toThrow(MISFIT);
  });

  it("are passed over as deeply nested as the reader says", () => {
    const bytes = pack({ x: { x: { x: 1 } }, a: 1 });
    const read = (depth: number) => () =>
      readWhole(bytes, 0, bytes.length, (r, p) => new Keys(names).find(r, (readMapHeader(r, p), r.position), 2, depth));
    expect(read(2)).toThrow(MISFIT);
  });
});
