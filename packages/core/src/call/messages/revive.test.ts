import { describe, expect, it } from "vitest";
import { z } from "zod";
import { colliding, MANY } from "../../../test/colliding.js";
import { pack } from "../../msgpack/pack.js";
import { WireMap } from "../../msgpack/value.js";
import { zodCodec } from "./codec.js";
import { revived } from "./revive.js";

const mapExpected = (path: PropertyKey[]): z.core.$ZodIssue => ({
  code: "invalid_type",
  expected: "map",
  path,
  message: "",
});

describe("maps and sets that zod wants", () => {
  it("take as long as they are many", () => {
    const keys = Array.from({ length: 2000 }, (_, i) => `k${i}`);
    let looked = 0;
    const entries = new Proxy(
      keys.map((key) => [key, new WireMap([[1, key]])] as const),
      {
        get(target, key, receiver) {
          looked++;
          return Reflect.get(target, key, receiver) as unknown;
        },
      },
    );
    const value = Object.fromEntries(keys.map((key) => [key, { 1: key }]));
    const result = revived(
      value,
      () => new WireMap(entries),
      keys.map((key) => mapExpected([key])),
    );
    expect(result?.value).toEqual(Object.fromEntries(keys.map((key) => [key, new Map([[1, key]])])));
    expect(looked).toBeLessThan(keys.length * 10);
  });

  it("have the value that the last of equal keys has, a number apart from its digits", () => {
    const inner = (text: string): WireMap => new WireMap([[text, 1]]);
    const written = new WireMap([
      ["1", inner("first")],
      [1, inner("number")],
      ["1", inner("text")],
    ]);
    const value = new Map<unknown, unknown>([
      [1, { number: 1 }],
      ["1", { text: 1 }],
    ]);
    const issues = [mapExpected([1]), mapExpected(["1"])];
    expect(revived(value, () => written, issues)?.value).toEqual(
      new Map<unknown, unknown>([
        [1, new Map([["number", 1]])],
        ["1", new Map([["text", 1]])],
      ]),
    );
  });

  it("are refused with numbers of one hash", () => {
    const keys = colliding.integers(MANY);
    const decode = (schema: z.ZodType, value: unknown): unknown => {
      const bytes = pack(value);
      return zodCodec(schema).decode(bytes, 0, bytes.length);
    };
    const refused = "too many numbers of one hash";
    expect(() => decode(z.set(z.int()), keys)).toThrow(refused);
    expect(() => decode(z.map(z.int(), z.int()), new Map(keys.map((key) => [key, 0])))).toThrow(refused);
    expect(decode(z.set(z.int()), keys.slice(0, 256))).toEqual(new Set(keys.slice(0, 256)));
  });
});
