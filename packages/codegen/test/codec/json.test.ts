import { RpcError } from "@quicrpc/core";
import { Mode, parseOrThrow, shapeOf } from "@quicrpc/core/internal";
import { run, type Shape } from "@quicrpc/core/codec";
import type { MessageCodec } from "@quicrpc/core/generated";
import { type JsonCodec, jsonCodecOf } from "@quicrpc/http";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { jsonMode } from "../../../http/src/json/conversions.js";
import { createWorkspace } from "../workspace.js";
import { compileSamples, encode } from "./compile.js";
import { same } from "./same.js";
import { schemas } from "./schemas.js";
import { batchesOf, SEED } from "./settings.js";
import { anything, nearly, numbers } from "./values.js";

const SCHEMAS_PER_BATCH = 60;
const BATCHES = batchesOf(3, SCHEMAS_PER_BATCH);
const VALID_VALUES = 40;
const CHANGES_OF_EACH = 4;
const HOSTILE_VALUES = 120;

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const hostile = fc.sample(anything, { numRuns: HOSTILE_VALUES, seed: SEED });

describe.each(Array.from({ length: BATCHES }, (_, batch) => batch))("JSON by the schema, batch %i", (batch) => {
  const seed = SEED + batch;

  test("carries what MessagePack carries, and refuses what it refuses", { timeout: 120_000 }, async () => {
    const random = numbers(seed);
    const samples = fc.sample(schemas(3), { numRuns: SCHEMAS_PER_BATCH, seed });
    let carried = 0;
    let read = 0;
    for (const { codec, source, valid } of await compileSamples(workspace, `json${batch}.service.ts`, samples)) {
      const json = jsonOf(codec);
      if (json === undefined) continue;
      const shape = shapeOf(codec) as Shape;
      const check = (value: unknown): void => {
        try {
          if (checkCarrying(codec, json, shape, value)) carried++;
          read += checkReading(json, shape, nearly(plainJson(json, value), hostile, random));
        } catch (error) {
          throw new Error(`${source}\n${fc.stringify(value)}`, { cause: error });
        }
      };
      for (const value of fc.sample(valid, { numRuns: VALID_VALUES, seed })) {
        check(value);
        for (let i = 0; i < CHANGES_OF_EACH; i++) check(nearly(value, hostile, random));
      }
      for (const value of hostile) check(value);
    }
    expect(carried).toBeGreaterThan(1000);
    expect(read).toBeGreaterThan(500);
  });
});

function jsonOf(codec: MessageCodec<unknown>): JsonCodec<unknown> | undefined {
  try {
    return jsonCodecOf(codec);
  } catch (error) {
    expect(error).toMatchObject({ code: "unimplemented" });
    return undefined;
  }
}

type Outcome = { readonly value: unknown } | { readonly issues: unknown };

function outcome(make: () => unknown): Outcome {
  try {
    return { value: make() };
  } catch (error) {
    if (!(error instanceof RpcError) || error.code !== "invalid_argument") throw error;
    return { issues: error.details ?? error.message };
  }
}

/** Whether a value is carried; it throws where JSON and MessagePack differ. */
function checkCarrying(codec: MessageCodec<unknown>, json: JsonCodec<unknown>, shape: Shape, value: unknown): boolean {
  const bytes = outcome(() => encode(codec, value));
  const text = outcome(() => json.write(value));
  if ("issues" in bytes && typeof bytes.issues !== "string") {
    expect(text).toEqual(bytes);
    return false;
  }
  if ("issues" in text) {
    expect(text.issues).toMatch(/cannot be sent/);
    return false;
  }
  if ("issues" in bytes || !isPlain(shape, value)) return false;
  const written = text.value as string;
  const brought = bytes.value as Uint8Array;
  const expected = outcome(() => codec.decode(brought, 0, brought.length));
  const actual = outcome(() => json.read(written));
  if (!same(sorted(actual), sorted(expected))) expect(sorted(actual)).toStrictEqual(sorted(expected));
  return true;
}

/** Whether JSON can carry a value of `shape`: undeclared parts may be anything, and JSON has not all of that. */
function isPlain(shape: Shape, value: unknown): boolean {
  return run(shape, value, Mode.Given).issues.length === 0;
}

/** Reads fast what the shape reads, and refuses what it refuses. Returns how many were taken. */
function checkReading(json: JsonCodec<unknown>, shape: Shape, value: unknown): number {
  const text = JSON.stringify(value, withoutBigints) ?? "null";
  const expected = outcome(() => parseOrThrow(shape, JSON.parse(text), jsonMode));
  const actual = outcome(() => json.read(text));
  if (!same(actual, expected)) expect(actual).toStrictEqual(expected);
  return "value" in actual ? 1 : 0;
}

function withoutBigints(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

function plainJson(json: JsonCodec<unknown>, value: unknown): unknown {
  try {
    return JSON.parse(json.write(value));
  } catch {
    return null;
  }
}

/** `value` with the entries of maps in one order, which JSON does not keep, and nothing undefined at the end of tuples. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Date || ArrayBuffer.isView(value)) return value;
  if (value instanceof Map) return new Map([...value].map(([k, v]) => [k, sorted(v)] as const).sort(byKey));
  if (value instanceof Set) return new Set([...value].map(sorted));
  // Items that are left out at the end of a tuple.
  if (Array.isArray(value)) return value.slice(0, value.findLastIndex((each) => each !== undefined) + 1).map(sorted);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, sorted(each)]));
}

function byKey([a]: readonly [unknown, unknown], [b]: readonly [unknown, unknown]): number {
  return String(a) < String(b) ? -1 : 1;
}
