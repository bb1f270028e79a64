import { RpcError } from "@quicrpc/core";
import fc from "fast-check";
import { Packr } from "msgpackr";
import { afterAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import { createWorkspace } from "../workspace.js";
import { same } from "./same.js";
import { type CompiledSample, compileSamples, encode } from "./compile.js";
import { schemas } from "./schemas.js";
import { batchesOf, SEED } from "./settings.js";
import { anything, nearly, numbers } from "./values.js";

const SCHEMAS_PER_BATCH = 60;
const BATCHES = batchesOf(4, SCHEMAS_PER_BATCH);
const VALID_VALUES = 60;
const CHANGES_OF_EACH = 4;
const HOSTILE_VALUES = 200;
/** Issues that a codec tells; each of them once. */
const MAX_ISSUES = 20;

/** msgpackr as the payloads of this project are by definition. */
const packr = new Packr({
  useRecords: false,
  variableMapSize: true,
  mapsAsObjects: true,
  int64AsType: "auto",
  copyBuffers: true,
  skipValues: [undefined],
} as object);

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const hostile = fc.sample(anything, { numRuns: HOSTILE_VALUES, seed: SEED });

describe.each(Array.from({ length: BATCHES }, (_, batch) => batch))("compiled codecs, batch %i", (batch) => {
  const seed = SEED + batch;

  test("agree with zod and msgpackr on 30,000 values", { timeout: 120_000 }, async () => {
    const random = numbers(seed);
    const samples = fc.sample(schemas(3, true), { numRuns: SCHEMAS_PER_BATCH, seed });
    let cases = 0;
    for (const sample of await compileSamples(workspace, `batch${batch}.service.ts`, samples)) {
      const check = (value: unknown, isValid: boolean): void => {
        cases++;
        try {
          checkSending(sample, value);
          checkReceiving(sample, value, isValid);
          if (isValid) checkBytes(sample, value);
        } catch (error) {
          throw new Error(`${sample.source}\n${fc.stringify(value)}`, { cause: error });
        }
      };
      for (const valid of fc.sample(sample.valid, { numRuns: VALID_VALUES, seed })) {
        check(valid, true);
        for (let i = 0; i < CHANGES_OF_EACH; i++) check(nearly(valid, hostile, random), false);
      }
      for (const value of hostile) check(value, false);
    }
    expect(cases).toBeGreaterThanOrEqual(30_000);
  });
});

type Outcome = { readonly value: unknown } | { readonly issues: unknown };

function byZod(schema: z.ZodType, value: unknown): Outcome | undefined {
  try {
    const { success, data, error } = schema.safeParse(value);
    if (success) return { value: data };
    const told = new Map(error.issues.slice(0, MAX_ISSUES).map((issue) => [JSON.stringify(issue, bigintText), issue]));
    return {
      issues: [...told.values()].map(({ path, code }) => ({ path: path.map(keyText), code: code ?? "custom" })),
    };
  } catch {
    // zod throws where it would freeze bytes (readonly), where an intersection cannot be merged, and what a transform throws.
    return undefined;
  }
}

/** As codecs tell of keys. */
function keyText(key: PropertyKey): string {
  const text = String(key);
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}

function bigintText(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}

function byCodec(run: () => unknown): Outcome {
  try {
    return { value: run() };
  } catch (error) {
    if (!(error instanceof RpcError) || error.code !== "invalid_argument") throw error;
    const details = error.details as { path: (string | number)[]; code: string }[] | undefined;
    if (details === undefined) return { issues: error.message };
    return { issues: details.map(({ path, code }) => ({ path: path.map(String), code })) };
  }
}

function agree(actual: Outcome, expected: Outcome): void {
  // vitest's own comparison takes longer than all the rest.
  if (!same(actual, expected)) expect(actual).toStrictEqual(expected);
}

/** Checks that the sender's codec takes or refuses `value` as zod does. */
function checkSending({ schema, codec, lossy }: CompiledSample, value: unknown): void {
  const expected = byZod(schema, value);
  if (expected === undefined) return;
  const sent = byCodec(() => encode(codec, value));
  if ("issues" in expected) agree(sent, expected);
  else if ("issues" in sent) expect(sent.issues).toMatch(/cannot be sent/);
  else if (!lossy && isPlain(value)) {
    const bytes = sent.value as Uint8Array;
    agree(
      byCodec(() => codec.decode(bytes, 0, bytes.length)),
      expected,
    );
  }
}

/** Whether the wire says all of a value, without its schema. */
function isPlain(value: unknown): boolean {
  const bytes = packed(value);
  return bytes !== undefined && same(packr.unpack(bytes), value);
}

/** The bytes of a value that is written as its schema has it are msgpackr's. */
function checkBytes({ codec, schema, source }: CompiledSample, value: unknown): void {
  const expected = byZod(schema, value);
  if (expected === undefined || "issues" in expected) return;
  const bytes = packr.pack(value);
  const sent = encode(codec, value);
  if (same(sent, new Uint8Array(bytes))) return;
  // Another option of a union than the one that the value was made for may not declare all of its keys.
  if (source.includes("z.union(") && sent.length < bytes.length) return;
  expect(Buffer.from(sent).toString("hex")).toBe(bytes.toString("hex"));
}

/** Schemas that take what does not fit, of which the wire may say too little: an array where a set is meant, say. */
const GUESSES = /\.catch\(|z\.(?:preprocess|codec|xor|looseRecord)\(|unionFallback/;

/** Checks that the receiver's codec takes or refuses `value` as zod does with what msgpackr reads. */
function checkReceiving({ schema, codec, lossy, source }: CompiledSample, value: unknown, isValid: boolean): void {
  const bytes = packed(value);
  if (bytes === undefined) return;
  const received = byCodec(() => codec.decode(bytes, 0, bytes.length));
  if (lossy) {
    const expected = byZod(schema, value);
    if (expected !== undefined && "value" in expected && (isValid || (!GUESSES.test(source) && isSendable(value))))
      agree(received, expected);
    return;
  }
  const expected = byZod(schema, packr.unpack(bytes));
  if (expected === undefined || same(received, expected)) return;
  // msgpackr makes numbers of bigints, which other options of a union take.
  const isGuess = GUESSES.test(source) && !isSendable(value);
  agree(received, (isGuess ? byZod(schema, value) : undefined) ?? expected);
}

function packed(value: unknown): Uint8Array | undefined {
  try {
    return new Uint8Array(packr.pack(value));
  } catch {
    return undefined;
  }
}

/** Whether the wire says all of `value`, wherever it stands: a small bigint is a number where anything may be. */
function isSendable(value: unknown): boolean {
  if (value === undefined || (typeof value === "bigint" && Number.isSafeInteger(Number(value)))) return false;
  if (typeof value !== "object" || value === null || value instanceof Date || ArrayBuffer.isView(value)) return true;
  const parts: unknown[] =
    value instanceof Map ? [...value].flat() : value instanceof Set ? [...value] : Object.values(value);
  return parts.every(isSendable);
}
