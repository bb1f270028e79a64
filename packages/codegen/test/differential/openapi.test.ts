// OpenAPI documents against an HTTP server, by a validator: the JSON that they describe is the JSON that it accepts and sends.
import type { Router } from "@quicrpc/core";
import { createFetchHandler } from "@quicrpc/http";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { bytesOfBase64 } from "../../../http/src/json/conversions.js";
import { generate, writeGenerated } from "../../src/index.js";
import { type SchemaSample, schemas } from "../codec/schemas.js";
import { batchesOf, SEED } from "../codec/settings.js";
import { anything, nearly, numbers } from "../codec/values.js";
import { createWorkspace } from "../workspace.js";

const SCHEMAS_PER_BATCH = 60;
const BATCHES = batchesOf(1, SCHEMAS_PER_BATCH);
const VALUES = 10;
const NEAR_EACH = 3;

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const hostile = fc.sample(anything, { numRuns: 100, seed: SEED });

/** Schemas of which a server refuses messages that the document describes, with the reason. */
const REFUSES_MORE: Readonly<Record<string, RegExp>> = {
  "a function decides": /refine\(|stringbool|transform\(Number\)|preprocess|(trim|toLowerCase)\(\)\./,
  "JSON Schema has no bounds for integers that are written as strings": /bigint\(\)\.m|int64/,
  "JSON Schema has no bounds for dates": /date\(\)\.m/,
  "JSON Schema has no checks for keys that match a pattern": /looseRecord\(z\.string\(\)\.regex\(.*\)\.min/,
  "the document does not describe map keys that are written numbers": /map\(z\.(number|int)\(\)/,
};
/** Schemas of which a server accepts messages that the document does not describe, with the reason. */
const ACCEPTS_MORE: Readonly<Record<string, RegExp>> = {
  "it converts any value": /coerce/,
  "it replaces an invalid value": /catch\(/,
  "it removes repeated items of a set": /set\(/,
  "it accepts safe integers as numbers too": /bigint|int64/,
};
/** Schemas of which a server sends messages that the document does not describe, with the reason. */
const SENDS_MORE: Readonly<Record<string, RegExp>> = { "the receiver replaces an invalid value": /catch\(/ };

function isException(exceptions: Readonly<Record<string, RegExp>>, source: string): boolean {
  return Object.values(exceptions).some((each) => each.test(source));
}

/** Returns true for JSON with integers beyond 2^53, which the document leaves open, or with years that RFC 3339 lacks. */
function isOutOfRange(json: unknown): boolean {
  if (typeof json === "number") return Number.isInteger(json) && !Number.isSafeInteger(json);
  if (typeof json === "string") return /^[+-]\d{6}-/.test(json);
  return typeof json === "object" && json !== null && Object.values(json).some(isOutOfRange);
}

/** A schema whose messages a server accepts and sends, and which a document describes. */
interface Served {
  readonly sample: SchemaSample;
  readonly input: ValidateFunction;
  readonly output: ValidateFunction;
  /** Sends JSON. Returns true if the server accepts it. */
  readonly accepts: (json: string) => Promise<boolean>;
  /** Calls a method that returns `value`. Returns the JSON of the response; undefined if `value` does not match the schema. */
  readonly answer: (value: unknown) => Promise<unknown>;
}

/** Serves `samples`, except those that plain JSON cannot represent. They may refer to `declarations`. */
async function serve(name: string, samples: readonly SchemaSample[], declarations = ""): Promise<Served[]> {
  const methods = samples.map(
    ({ source }, i) => `i${i}: rpc({ input: ${source} }), o${i}: rpc({ output: ${source} }),`,
  );
  const path = workspace.write(
    `${name}.service.ts`,
    `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\n${declarations}\n` +
      `export const S = service("test.v1.S", {\n${methods.join("\n")}\n});`,
  );
  const openapi = `${name}.json`;
  const { files, diagnostics } = await generate({ files: [path], importExtension: "ts", openapi, cwd: workspace.path });
  expect(diagnostics.filter(({ code }) => code !== "no-json")).toEqual([]);
  writeGenerated(files);
  const { createSRouter } = (await import(/* @vite-ignore */ files[0]?.path ?? "")) as {
    createSRouter: (handlers: Readonly<Record<string, () => unknown>>) => Router;
  };
  let result: unknown;
  const handlers = Object.fromEntries(
    samples.flatMap((_, i) => [`i${i}`, `o${i}`]).map((each) => [each, () => result]),
  );
  const handle = createFetchHandler({ routers: [createSRouter(handlers)], onError: () => {} });
  const call = async (method: string, body: string): Promise<{ readonly ok: boolean; readonly text: string }> => {
    const headers = { "content-type": "application/json" };
    const response = await handle(
      new Request(`http://localhost/test.v1.S/${method}`, { method: "POST", headers, body }),
    );
    return { ok: response.ok, text: await response.text() };
  };
  const document = JSON.parse(files.find((file) => file.path.endsWith(openapi))?.text ?? "") as {
    readonly paths: Readonly<Record<string, unknown>>;
    readonly components: { readonly schemas: Readonly<Record<string, object>> };
  };
  const ajv = createValidator();
  for (const schema of Object.values(document.components.schemas)) {
    if (ajv.validateSchema(schema) !== true) throw new Error(`${JSON.stringify(schema)} is no JSON Schema`);
  }
  ajv.addSchema(document, "document", false, false);
  const validator = (method: string, message: string): ValidateFunction =>
    ajv.compile({ $ref: `document#/paths/~1test.v1.S~1${method}/post/${message}/content/application~1json/schema` });
  return samples.flatMap((sample, i): Served[] => {
    if (document.paths[`/test.v1.S/i${i}`] === undefined) return [];
    return [
      {
        sample,
        input: validator(`i${i}`, "requestBody"),
        output: validator(`o${i}`, "responses/200"),
        async accepts(json) {
          const { ok, text } = await call(`i${i}`, json);
          if (!ok) expect(JSON.parse(text)).toMatchObject({ code: "invalid_argument" });
          return ok;
        },
        async answer(value) {
          result = value;
          const { ok, text } = await call(`o${i}`, "{}");
          return ok ? (JSON.parse(text) as unknown) : undefined;
        },
      },
    ];
  });
}

/** Creates a validator that asserts formats and encodings, which by the standard are annotations. */
function createValidator(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, multipleOfPrecision: 9 });
  addFormats.default(ajv);
  ajv.removeKeyword("contentEncoding");
  const validate = (_: unknown, text: string): boolean => bytesOfBase64(text) !== undefined;
  return ajv.addKeyword({ keyword: "contentEncoding", type: "string", validate });
}

interface Comparison {
  readonly disagreements: string[];
  accepted: number;
  refused: number;
  sent: number;
}

/** Sends valid and nearly valid values of the samples both ways. */
async function compare(all: readonly Served[], seed: number): Promise<Comparison> {
  const random = numbers(seed);
  const comparison: Comparison = { disagreements: [], accepted: 0, refused: 0, sent: 0 };
  for (const { sample, input, output, accepts, answer } of all) {
    const { source } = sample;
    // One of each kind says enough.
    const found = new Map<string, string>();
    const disagree = (what: string, json: unknown): void => {
      if (!isOutOfRange(json)) found.set(what, `${what}\n  ${source}\n  ${JSON.stringify(json)}`);
    };
    const given = fc.sample(sample.valid, { numRuns: VALUES, seed });
    const values = [...given];
    for (const value of given) {
      const json = await answer(value);
      if (json === undefined) continue;
      comparison.sent++;
      values.push(json);
      if (!output(json) && !isException(SENDS_MORE, source)) disagree("sent", json);
    }
    for (const value of values.flatMap((each) => [
      each,
      ...Array.from({ length: NEAR_EACH }, () => nearly(each, hostile, random)),
    ])) {
      const text = JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? String(part) : part));
      if (text === undefined) continue;
      const json = JSON.parse(text) as unknown;
      const isAccepted = await accepts(text);
      comparison[isAccepted ? "accepted" : "refused"]++;
      const isDescribed = input(json);
      if (isAccepted && !isDescribed && !isException(ACCEPTS_MORE, source)) disagree("accepted", json);
      if (!isAccepted && isDescribed && !isException(REFUSES_MORE, source)) disagree("refused", json);
    }
    comparison.disagreements.push(...found.values());
  }
  return comparison;
}

describe.each(Array.from({ length: BATCHES }, (_, batch) => batch))("OpenAPI documents, batch %i", (batch) => {
  const seed = SEED + batch;

  test("describe the JSON that an HTTP server accepts and sends", { timeout: 120_000 }, async () => {
    const samples = fc.sample(schemas(2), { numRuns: SCHEMAS_PER_BATCH, seed });
    const { disagreements, accepted, refused, sent } = await compare(await serve(`random${batch}`, samples), seed);
    expect(disagreements).toEqual([]);
    expect(accepted).toBeGreaterThan(500);
    expect(refused).toBeGreaterThan(500);
    expect(sent).toBeGreaterThan(100);
  });
});

describe("OpenAPI documents", () => {
  const declarations = `
    export const Left = z.strictObject({ a: z.string() });
    export const Right = z.strictObject({ b: z.int() });
    export const Open = z.object({ a: z.string() });
    export const Branch = z.strictObject({ a: z.array(z.object({ c: z.object({ d: z.int() }) })) });
    const marked = z.object({ n: z.int() }).meta({ id: "50% of a/b~c #1" });`;
  const of = (part: Readonly<Record<string, unknown>>): fc.Arbitrary<unknown> => fc.constant(part);
  const named: readonly (readonly [source: string, valid: fc.Arbitrary<unknown>])[] = [
    ["z.intersection(Left, Right)", of({ a: "x", b: 1 })],
    ["z.intersection(Left, Open)", of({ a: "x" })],
    ["z.intersection(Left, z.union([Right, Open]))", of({ a: "x", b: 1 })],
    ["z.object({ x: z.intersection(Branch, Right), y: Branch })", of({ x: { a: [], b: 1 }, y: { a: [] } })],
    ["z.object({ x: marked, y: z.array(marked) })", of({ x: { n: 1 }, y: [{ n: 2 }] })],
    ["z.object({ a: z.string().trim().max(3) })", fc.constantFrom({ a: "  abc  " }, { a: "abcd" })],
    ["z.object({ a: z.string().trim().min(1) })", fc.constantFrom({ a: " a" }, { a: " " })],
    ["z.object({ a: z.string().toLowerCase().regex(/^[a-z]+$/) })", of({ a: "ABC" })],
    ["z.object({ a: z.looseRecord(z.string().regex(/^a/).min(2), z.int()) })", of({ a: { a: "x", ab: 1, b: "x" } })],
  ];

  test("describe named schemas and changed text", async () => {
    const samples = named.map(([source, valid]) => ({ source, valid, lossy: false }));
    const { disagreements, accepted } = await compare(await serve("named", samples, declarations), SEED);
    expect(disagreements).toEqual([]);
    expect(accepted).toBeGreaterThan(named.length * VALUES);
  });
});
