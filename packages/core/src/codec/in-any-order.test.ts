import { describe, expect, it, vi } from "vitest";
import { pack, readWhole } from "../msgpack/message.js";
import { readInt, readMapHeader, type Reader, readString } from "../msgpack/reader.js";
import { inAnyOrder } from "./in-any-order.js";

const MISFIT = "a value does not fit its schema";

interface Pair {
  a: number;
  b: number | Pair;
}

/** Reads `{ a, b }` in that order only. */
function inOrder(r: Reader, p: number): Pair {
  if (readMapHeader(r, p) !== 2 || readString(r, r.position) !== "a") return otherwise(r, p);
  const a = readInt(r, r.position);
  if (readString(r, r.position) !== "b") return otherwise(r, p);
  const at = r.position;
  const b = r.view.getUint8(at) >> 4 === 8 ? read(r, at) : readInt(r, at);
  return { a, b };
}

const read = vi.fn<(r: Reader, p: number) => Pair>(inOrder);
const otherwise = inAnyOrder(read, ["a", "b"]);
const strictly = inAnyOrder(inOrder, ["a", "b"], true);

const parse = (value: unknown, by: (r: Reader, p: number) => Pair = read): Pair => {
  const bytes = new Uint8Array([1, 2, 3, ...pack(value), 4]);
  return readWhole(bytes, 3, bytes.length - 1, by);
};

/** An object with `b` first, and such objects in it. */
const nested = (levels: number): unknown => (levels === 0 ? 1 : { b: nested(levels - 1), a: 1 });

describe("an object whose keys do not come in order", () => {
  it.each([
    ["in order", { a: 1, b: 2 }],
    ["in another", { b: 2, a: 1 }],
    ["among others", { x: [1, { y: "long ".repeat(100) }], b: 2, z: null, a: 1, "": {} }],
  ])("%s", (_name, value) => {
    expect(parse(value)).toEqual({ a: 1, b: 2 });
  });

  it("is read inside another, and behind it", () => {
    expect(parse({ b: { b: 2, a: 3 }, more: 1, a: 1 })).toEqual({ a: 1, b: { a: 3, b: 2 } });
    expect(parse({ b: 2, a: 1 })).toEqual({ a: 1, b: 2 });
  });

  it("is larger than the copies that are kept", () => {
    const pad = "x".repeat(200_000);
    expect(parse({ pad, b: 2, a: 1 })).toEqual({ a: 1, b: 2 });
    expect(parse({ b: { pad, b: 2, a: 3 }, pad, a: 1 })).toEqual({ a: 1, b: { a: 3, b: 2 } });
  });

  it("is refused without a key, with a value of another type, and, where it is strict, with another key", () => {
    expect(() => parse({ b: 2 })).toThrow(MISFIT);
    expect(() => parse({ b: 2, c: 1 })).toThrow(MISFIT);
    expect(() => parse({ b: 2, a: "1" })).toThrow(MISFIT);
    expect(() => parse({ b: 2, a: 1, c: 3 }, strictly)).toThrow(MISFIT);
    expect(parse({ b: 2, a: 1 }, strictly)).toEqual({ a: 1, b: 2 });
    expect(parse({ b: 2, a: 1 })).toEqual({ a: 1, b: 2 });
  });

  it("inside itself many times is not read twice as often with each level", () => {
    read.mockClear();
    expect(() => parse(nested(40))).toThrow(MISFIT);
    expect(read.mock.calls.length).toBeLessThan(1000);
  });
});
