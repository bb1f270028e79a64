import { describe, expect, it } from "vitest";
import { json } from "../call/messages/json.js";
import { msgpackRecords } from "../call/messages/records-codec.js";
import type { SessionCodec } from "../contract/codec.js";
import { colliding, MANY } from "../../test/colliding.js";
import { keyCrowd, mapOf, setOf } from "./key-crowd.js";

/** How many of `keys` a Set takes before one is refused. */
function taken(keys: readonly unknown[]): number {
  const set = new Set<unknown>();
  const crowd = keyCrowd(set, keys.length);
  return keys.findIndex((key) => crowd?.admits((set.add(key), key)) === false);
}

function sent(codec: SessionCodec, value: unknown): Uint8Array {
  const out = { buffer: new Uint8Array(1_000_000), position: 0, reserve: (): void => undefined };
  codec.encode(value, out);
  return out.buffer.subarray(0, out.position);
}

const numbers = <T>(of: (i: number) => T): T[] => Array.from({ length: 100_000 }, (_, i) => of(i));

describe("keys of one hash", () => {
  it.each(Object.entries(colliding))("are refused after some: %s", (_kind, make) => {
    const keys = make(MANY);
    const at = taken(keys);
    expect(at).toBeGreaterThan(0);
    expect(at).toBeLessThan(100);
    expect(setOf(keys)).toBeUndefined();
    expect(mapOf(keys.map((key) => [key, 0]))).toBeUndefined();
  });

  it.each(Object.entries(colliding))("are those that this engine takes long for: %s", (_kind, make) => {
    const keys = make(MANY);
    const others = keys.map((key, i) => (typeof key === "bigint" ? BigInt(i * 7) : i * 7));
    const time = (values: readonly unknown[]): number => {
      const start = performance.now();
      expect(new Set(values).size).toBe(values.length);
      return performance.now() - start;
    };
    expect(time(keys)).toBeGreaterThan(time(others) * 5);
  });

  it("are found in a Set that has others, and that is larger", () => {
    const fine = numbers((i) => i * 3);
    expect(taken([...fine, ...colliding.integers(MANY)])).toBeGreaterThan(fine.length - 1);
  });

  it("are no more than before where they come again and again", () => {
    expect(taken(numbers((i) => i % 300))).toBe(-1);
    const few = colliding.integers(40);
    expect(taken(numbers((i) => few[i % few.length]))).toBe(-1);
  });

  it("may be few, whatever they are", () => {
    const few = colliding.integers(256);
    expect(setOf(few)).toEqual(new Set(few));
    expect(mapOf(few.map((key) => [key, key]))?.size).toBe(256);
  });
});

describe("codecs of sessions refuse keys of one hash", () => {
  const keys = colliding.integers(MANY);

  it.each<[string, SessionCodec, string]>([
    ["json", json, "too many numbers of one hash"],
    ["records", msgpackRecords(), "does not fit"],
  ])("%s", (_name, codec, refusal) => {
    for (const value of [new Set(keys), new Map(keys.map((key) => [key, 0]))]) {
      const bytes = sent(codec, value);
      expect(() => codec.decode(bytes, 0, bytes.length)).toThrow(refusal);
      const fine = sent(codec, new Set(keys.map((_, i) => i)));
      expect(codec.decode(fine, 0, fine.length)).toHaveProperty("size", keys.length);
    }
  });
});

describe("keys that nobody has chosen for their hashes", () => {
  it.each<[string, (i: number) => unknown]>([
    ["in a row", (i) => i],
    ["negative", (i) => -i],
    ["multiples of 1,024", (i) => i * 1024],
    ["multiples of 2^20", (i) => i * 2 ** 20],
    ["times", (i) => 1_790_000_000_000 + i * 1000],
    ["quarters", (i) => i / 4],
    ["hundredths", (i) => i / 100],
    ["powers", (i) => 1.01 ** (i % 50_000)],
    ["large integers", (i) => 2 ** 52 + i * 2],
    ["of many bits", (i) => (i * 2_654_435_761) % 2 ** 32],
    ["bigints in a row", (i) => BigInt(i)],
    ["bigints of times and a number", (i) => (1_790_000_000_000n << 22n) + BigInt(i * 4096)],
    ["text", (i) => `k${i}`],
    ["text of digits", String],
    ["dates", (i) => new Date(i)],
  ])("%s", (_name, of) => {
    const keys = numbers(of);
    expect(taken(keys)).toBe(-1);
    expect(setOf(keys)).toEqual(new Set(keys));
  });
});
