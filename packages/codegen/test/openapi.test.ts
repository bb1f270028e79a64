// Statements of OpenAPI documents are true of the server.
import fc from "fast-check";
import { jsonCodecOf } from "@quicrpc/http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generate } from "../src/index.js";
import { compileSamples, type CompiledSample } from "./codec/compile.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

type JsonSchema = Readonly<Record<string, unknown>>;

const SOURCES = {
  flags: "z.object({ a: z.string().regex(/^a$/i) })",
  infinite: "z.object({ a: z.number().max(Infinity) })",
  ipv6: "z.object({ a: z.ipv6() })",
  set: "z.object({ a: z.set(z.object({ b: z.int() })) })",
  caught: "z.object({ a: z.int().catch(7) })",
  coerced: "z.object({ a: z.coerce.number() })",
  escaped: "z.object({ a: z.string().regex(/^\\w\\@\\w$/) })",
  exact: `z.object({
    a: z.string().exactOptional().pipe(z.any()),
    b: z.string().exactOptional(),
    c: z.string().optional().exactOptional().pipe(z.any()),
    d: z.string().exactOptional().nullable().pipe(z.any()),
  })`,
  loose: 'z.looseRecord(z.enum(["a"]), z.string())',
} as const;
type Name = keyof typeof SOURCES;

let compiled: readonly CompiledSample[] = [];
let schemas: Readonly<Record<string, { input: JsonSchema; output: JsonSchema }>> = {};

beforeAll(async () => {
  const samples = Object.values(SOURCES).map((source) => ({ source, valid: fc.constant(undefined), lossy: false }));
  compiled = await compileSamples(workspace, "compiled.service.ts", samples);
  const path = workspace.write(
    "documented.service.ts",
    `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\nexport const S = service("test.v1.S", {\n` +
      `${Object.entries(SOURCES)
        .map(([name, source]) => `${name}: rpc({ input: ${source}, output: ${source} }),`)
        .join("\n")}\n});`,
  );
  const { files, diagnostics } = await generate({ files: [path], openapi: "openapi.json", cwd: workspace.path });
  if (diagnostics.length > 0) throw new Error(diagnostics.map(({ message }) => message).join());
  const document = JSON.parse(files.find((file) => file.path.endsWith("openapi.json"))?.text ?? "") as JsonSchema;
  schemas = Object.fromEntries(
    Object.entries(document["paths"] as Record<string, Record<string, JsonSchema>>).map(([path, { post }]) => {
      const of = (message: unknown): JsonSchema =>
        resolve(
          document,
          (message as { content: Record<string, { schema: JsonSchema }> }).content["application/json"]?.schema,
        );
      const responses = post?.["responses"] as Record<string, unknown>;
      return [path.split("/").at(-1), { input: of(post?.["requestBody"]), output: of(responses["200"]) }];
    }),
  );
});

function resolve(document: JsonSchema, schema: JsonSchema = {}): JsonSchema {
  const reference = schema["$ref"];
  if (typeof reference !== "string") return schema;
  return reference
    .slice(2)
    .split("/")
    .reduce<JsonSchema>((at, key) => at[key] as JsonSchema, document);
}

/** The schema of the field `a` of a message. */
function fieldOf(name: Name, role: "input" | "output" = "input"): JsonSchema {
  const { properties } = schemas[name]?.[role] ?? {};
  return (properties as { a: JsonSchema }).a;
}

/** Whether the server takes this JSON. */
function isTaken(name: Name, json: unknown): boolean {
  const { codec } = compiled[Object.keys(SOURCES).indexOf(name)] ?? expect.unreachable();
  try {
    jsonCodecOf(codec).read(JSON.stringify(json));
    return true;
  } catch {
    return false;
  }
}

test("the server takes and refuses what these tests suppose", () => {
  expect(isTaken("flags", { a: "A" })).toBe(true);
  expect(isTaken("infinite", { a: 1e300 })).toBe(true);
  expect(isTaken("ipv6", { a: "::ffff:192.0.2.1" })).toBe(true);
  expect(isTaken("set", { a: [{ b: 1 }, { b: 1 }] })).toBe(true);
  expect(isTaken("caught", {})).toBe(true);
  expect(isTaken("loose", { a: "x", b: 1 })).toBe(true);
});

describe("an OpenAPI document", () => {
  test("has no pattern whose flags it cannot say", () => {
    expect(fieldOf("flags")).toEqual({ type: "string" });
  });
  test("has no pattern that is invalid with the flag u, with which JSON Schema reads patterns", () => {
    expect(fieldOf("escaped")).toEqual({ type: "string" });
  });
  test("takes other fields in a loose record of certain keys", () => {
    expect(schemas["loose"]?.input).toMatchObject({ type: "object", properties: { a: { type: "string" } } });
    expect(schemas["loose"]?.input).not.toHaveProperty("propertyNames");
    expect(schemas["loose"]?.input).not.toHaveProperty("additionalProperties");
  });
  test("is a JSON Schema for an infinite bound", () => {
    expect(Object.values(fieldOf("infinite"))).not.toContain(null);
  });
  test("takes every IPv6 address that the server takes", () => {
    expect(fieldOf("ipv6")).toEqual({ type: "string", format: "ipv6" });
  });
  test("takes a set of objects that are equal and not the same", () => {
    expect(fieldOf("set")["uniqueItems"]).not.toBe(true);
  });
  test("does not require a field with a fallback", () => {
    expect(schemas["caught"]?.input["required"] ?? []).not.toContain("a");
  });
  test("requires a field that may be left out by its type, and that the server refuses without a value", () => {
    expect(schemas["exact"]?.input["required"]).toEqual(["a", "d"]);
    const { codec } = compiled[Object.keys(SOURCES).indexOf("exact")] ?? expect.unreachable();
    const json = jsonCodecOf(codec);
    expect(() => json.read('{"d":"x"}')).toThrow("at a");
    expect(() => json.read('{"a":"x"}')).toThrow("at d");
    expect(json.read('{"a":"x","d":"x"}')).toEqual({ a: "x", d: "x" });
  });
  test("announces of a coerced output what is sent", () => {
    const { codec } = compiled[Object.keys(SOURCES).indexOf("coerced")] ?? expect.unreachable();
    const { a } = JSON.parse(jsonCodecOf(codec).write({ a: "7" })) as { readonly a: unknown };
    const { type } = fieldOf("coerced", "output");
    expect(type === undefined || type === typeof a).toBe(true);
  });
});
