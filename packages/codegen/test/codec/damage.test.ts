import { RpcError } from "@quicrpc/core";
import fc from "fast-check";
import { Packr } from "msgpackr";
import { afterAll, describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.js";
import { type CompiledSample, compileSamples, encode } from "./compile.js";
import { same } from "./same.js";
import { schemas } from "./schemas.js";
import { numbers } from "./values.js";

const SEED = 7_001;
const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

/** Decodes `bytes`: returns the value or the `invalid_argument`; other errors are thrown on. */
function decode(
  { codec }: CompiledSample,
  bytes: Uint8Array,
  start = 0,
  end = bytes.length,
): { value: unknown } | RpcError {
  try {
    return { value: codec.decode(bytes, start, end) };
  } catch (error) {
    if (error instanceof RpcError && error.code === "invalid_argument") return error;
    throw error;
  }
}

describe("damaged payloads", () => {
  test("give an error, or a value that the schema accepts", { timeout: 120_000 }, async () => {
    const random = numbers(SEED);
    const samples = fc.sample(schemas(2), { numRuns: 50, seed: SEED });
    let damaged = 0;
    for (const sample of await compileSamples(workspace, "damage.service.ts", samples)) {
      for (const valid of fc.sample(sample.valid, { numRuns: 6, seed: SEED })) {
        let bytes: Uint8Array;
        try {
          bytes = encode(sample.codec, valid);
        } catch {
          // A refinement may refuse a value that is valid otherwise.
          continue;
        }
        const whole = decode(sample, bytes);
        // Within a larger buffer, whose other bytes must not be taken for the payload's.
        const among = new Uint8Array(bytes.length + 40).fill(0x81);
        among.set(bytes, 20);
        expect(same(decode(sample, among, 20, 20 + bytes.length), whole)).toBe(true);
        for (let length = 0; length < Math.min(bytes.length, 60); length++) {
          damaged++;
          expect(decode(sample, bytes.slice(0, length))).toBeInstanceOf(RpcError);
          expect(decode(sample, among, 20, 20 + length)).toBeInstanceOf(RpcError);
        }
        expect(decode(sample, among, 20, 21 + bytes.length)).toBeInstanceOf(RpcError);
        for (let i = 0; i < 60; i++) {
          damaged++;
          const copy = bytes.slice();
          for (let flips = 1 + random(3); flips > 0; flips--) copy[random(copy.length)] = random(256);
          checkAgainstZod(sample, copy, decode(sample, copy));
        }
      }
    }
    expect(damaged).toBeGreaterThan(10_000);
  });
});

const packr = new Packr({ useRecords: false, int64AsType: "auto", copyBuffers: true } as object);

/** Where msgpackr reads the same bytes, zod accepts what was accepted, and it is the same. */
function checkAgainstZod(
  { schema, lossy, source }: CompiledSample,
  bytes: Uint8Array,
  outcome: { value: unknown } | RpcError,
): void {
  if (lossy || outcome instanceof RpcError) return;
  let read: unknown;
  try {
    read = packr.unpack(bytes);
  } catch {
    return;
  }
  // msgpackr reads broken UTF-8 in its own way, and keys that are not text.
  if (/\uFFFD|__proto|NaN/.test(fc.stringify([read, outcome.value]))) return;
  const { success, data } = schema.safeParse(read);
  if (!success || !same(data, outcome.value))
    expect({ source, value: outcome.value }).toStrictEqual({ source, value: data });
}

describe("hostile payloads", () => {
  test.each([
    ["an array said to have 4 billion elements", [0xdd, 0xff, 0xff, 0xff, 0xff]],
    ["a map said to have 4 billion entries", [0xdf, 0xff, 0xff, 0xff, 0xff]],
    ["text said to have 4 billion bytes", [0xdb, 0xff, 0xff, 0xff, 0xff, 0x61]],
    ["bytes said to be 4 billion", [0xc6, 0xff, 0xff, 0xff, 0xff, 0x61]],
    ["arrays a million deep", Array<number>(1_000_000).fill(0x91)],
    ["maps a million deep", Array<number>(1_000_000).fill(0x81)],
    ["an extension of no known type", [0xc7, 1, 0x70, 0]],
    ["a record of msgpackr's own", [0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61, 1]],
    ["nothing", []],
    ["the byte that is never used", [0xc1]],
  ])("%s: an error at once", async (_, bytes) => {
    const [any, list, tree, object] = await hostileSamples;
    for (const sample of [any, list, tree, object]) {
      if (sample === undefined) throw new Error("no sample");
      expect(decode(sample, new Uint8Array(bytes))).toBeInstanceOf(RpcError);
    }
  });

  test.each([
    ["a number", "z.number()", [0xcb, 0x40], [0, 0, 0, 0, 0, 0, 0]],
    ["a small number", "z.int()", [], [7]],
    ["a boolean", "z.boolean()", [], [0xc3]],
    ["an object", "z.object({ a: z.int() })", [0x81, 0xa1, 0x61], [7]],
    ["what zod itself reads", "z.number().transform((value) => value)", [0xcb, 0x40], [0, 0, 0, 0, 0, 0, 0]],
  ])("a refinement of %s sees none of the bytes behind a payload", async (of, schema, bytes, behind) => {
    const source = `${schema}.refine((value) => { (globalThis as { seen?: unknown[] }).seen?.push(value); return true; })`;
    const [sample] = await compileSamples(workspace, `${of.replaceAll(" ", "-")}.service.ts`, [plainSample(source)]);
    if (sample === undefined) throw new Error("no sample");
    const seen: unknown[] = [];
    Object.assign(globalThis, { seen });
    const among = new Uint8Array([...bytes, ...behind]);
    expect(decode(sample, among)).not.toBeInstanceOf(RpcError);
    expect(seen).toHaveLength(1);
    expect(decode(sample, among.subarray(0, bytes.length))).toBeInstanceOf(RpcError);
    expect(decode(sample, among, 0, bytes.length)).toBeInstanceOf(RpcError);
    expect(seen).toHaveLength(1);
  });

  test("a key __proto__ reaches no prototype", async () => {
    const poisoned = [0x81, 0xa9, ...Buffer.from("__proto__"), 0x81, 0xa1, 0x61, 0x01];
    for (const sample of await hostileSamples) {
      const outcome = decode(sample, new Uint8Array(poisoned));
      if (outcome instanceof RpcError) continue;
      expect(Object.keys(outcome.value as object)).toEqual([]);
      expect((outcome.value as { a?: unknown }).a).toBeUndefined();
    }
  });

  test("a value inside itself is refused by the sender", async () => {
    const [any, list] = await hostileSamples;
    const circle: unknown[] = [];
    circle.push(circle);
    for (const sample of [any, list]) {
      if (sample === undefined) throw new Error("no sample");
      expect(() => encode(sample.codec, circle)).toThrow(RpcError);
    }
  });
});

const plainSample = (source: string) => ({ source, valid: fc.constant(undefined), lossy: false });
const hostileSamples = compileSamples(workspace, "hostile.service.ts", [
  plainSample("z.any()"),
  plainSample("z.array(z.lazy(() => z.array(z.any())))"),
  plainSample("z.object({ get next() { return z.object({ a: z.any() }).optional(); } })"),
  plainSample("z.looseObject({ a: z.string().optional() })"),
  plainSample("z.record(z.string(), z.any())"),
]);
