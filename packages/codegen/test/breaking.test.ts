import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Change, compareSnapshots, generate, type SchemaSnapshot, SHAPE_FORMAT } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const IMPORTS = `import { bytes, notify, rpc, service, stream } from "@quicrpc/core";\nimport { z } from "zod";\n`;

/** Snapshot of a module, as a peer sees it. */
async function snapshot(text: string, more = ""): Promise<SchemaSnapshot> {
  const schema = workspace.write("a.service.ts", `${IMPORTS}${more}\n${text}`);
  const { snapshot, diagnostics } = await generate({ files: [schema] });
  expect(diagnostics).toEqual([]);
  return snapshot;
}

const show = ({ class: is, kind, path }: Change): string => [is, kind, path].filter(Boolean).join(" ");

/** One changed message: as an input it has one effect, as an output another. */
type MessagePair = readonly [
  name: string,
  before: string,
  after: string,
  input: readonly string[],
  output: readonly string[],
];

const messages: readonly MessagePair[] = [
  ["nothing", "z.object({ a: z.int() })", "z.object({ a: z.int() })", [], []],
  ["order of fields", "z.object({ a: z.int(), b: z.string() })", "z.object({ b: z.string(), a: z.int() })", [], []],
  ["comment", "z.string()", 'z.string().describe("A text.")', [], []],
  ["brand", "z.string()", 'z.string().brand("Id")', [], []],
  ["readonly", "z.array(z.int())", "z.array(z.int()).readonly()", [], []],
  ["enum to literals", 'z.enum(["a", "b"])', 'z.literal(["b", "a"])', [], []],
  [
    "intersection to object",
    "z.intersection(z.object({ a: z.int() }), z.object({ b: z.int() }))",
    "z.object({ a: z.int(), b: z.int() })",
    [],
    [],
  ],
  [
    "required field added",
    "z.object({ a: z.int() })",
    "z.object({ a: z.int(), b: z.int() })",
    ["wire field-added-required input.b"],
    ["safe field-added-required output.b"],
  ],
  [
    "field removed whose name every object inherits",
    "z.object({ a: z.int(), constructor: z.int() })",
    "z.object({ a: z.int() })",
    ["source field-removed-required input.constructor"],
    ["wire field-removed-required output.constructor"],
  ],
  [
    "such a field in an intersection",
    "z.object({ a: z.int(), constructor: z.int() })",
    "z.intersection(z.object({ a: z.int() }), z.object({ constructor: z.int() }))",
    [],
    [],
  ],
  [
    "optional field added",
    "z.object({ a: z.int() })",
    "z.object({ a: z.int(), b: z.int().optional() })",
    ["safe field-added-optional input.b"],
    ["safe field-added-optional output.b"],
  ],
  [
    "field with default added",
    "z.object({ a: z.int() })",
    "z.object({ a: z.int(), b: z.int().default(1) })",
    ["safe field-added-optional input.b"],
    ["safe field-added-optional output.b"],
  ],
  [
    "key added to a record",
    'z.record(z.enum(["a", "b"]), z.int())',
    'z.record(z.enum(["a", "b", "c"]), z.int())',
    ["wire field-added-required input.c", "safe field-added-refused input.c"],
    ["wire field-added-refused output.c", "safe field-added-required output.c"],
  ],
  [
    "key removed from a record",
    'z.record(z.enum(["a", "b"]), z.int())',
    'z.record(z.enum(["a"]), z.int())',
    ["wire field-removed-refused input.b", "source field-removed-required input.b"],
    ["wire field-removed-required output.b", "safe field-removed-refused output.b"],
  ],
  [
    "field of another type than other fields had",
    "z.object({ a: z.string() }).catchall(z.int())",
    "z.object({ a: z.string(), b: z.string().optional() }).catchall(z.int())",
    ["wire type-changed input.b", "safe field-added-optional input.b"],
    ["wire type-changed output.b", "safe field-added-optional output.b"],
  ],
  [
    "field removed of another type than other fields have",
    "z.object({ a: z.string(), b: z.string().optional() }).catchall(z.int())",
    "z.object({ a: z.string() }).catchall(z.int())",
    ["wire type-changed input.b", "source field-removed-optional input.b"],
    ["wire type-changed output.b", "source field-removed-optional output.b"],
  ],
  [
    "item of another type than further items had",
    "z.tuple([z.string()], z.int())",
    "z.tuple([z.string(), z.boolean().optional()], z.int())",
    ["wire type-changed input[1]", "safe type-widened input[1]"],
    ["wire type-changed output[1]", "wire type-widened output[1]"],
  ],
  [
    "fewer items before further ones",
    "z.tuple([z.string(), z.string()], z.string())",
    "z.tuple([z.string()], z.string())",
    ["safe field-now-optional input"],
    ["wire field-now-optional output"],
  ],
  [
    "what z.preprocess prepares for",
    "z.preprocess((v) => v, z.object({ a: z.int() }))",
    "z.preprocess((v) => v, z.object({ a: z.int(), b: z.int() }))",
    ["wire field-added-required input.b"],
    ["safe field-added-required output.b"],
  ],
  [
    "optional field added to strict object",
    "z.strictObject({ a: z.int() })",
    "z.strictObject({ a: z.int(), b: z.int().optional() })",
    ["safe field-added-optional input.b", "safe field-added-refused input.b"],
    ["wire field-added-refused output.b", "safe field-added-optional output.b"],
  ],
  [
    "required field removed",
    "z.object({ a: z.int(), b: z.int() })",
    "z.object({ a: z.int() })",
    ["source field-removed-required input.b"],
    ["wire field-removed-required output.b"],
  ],
  [
    "optional field removed",
    "z.object({ a: z.int(), b: z.int().optional() })",
    "z.object({ a: z.int() })",
    ["source field-removed-optional input.b"],
    ["source field-removed-optional output.b"],
  ],
  [
    "field removed from strict object",
    "z.strictObject({ a: z.int(), b: z.int().optional() })",
    "z.strictObject({ a: z.int() })",
    ["wire field-removed-refused input.b", "source field-removed-optional input.b"],
    ["source field-removed-optional output.b", "safe field-removed-refused output.b"],
  ],
  [
    "field renamed",
    "z.object({ a: z.int() })",
    "z.object({ b: z.int() })",
    ["wire field-added-required input.b", "source field-removed-required input.a"],
    ["wire field-removed-required output.a", "safe field-added-required output.b"],
  ],
  [
    "optional to required",
    "z.object({ a: z.int().optional() })",
    "z.object({ a: z.int() })",
    ["wire field-now-required input.a"],
    ["safe field-now-required output.a"],
  ],
  [
    "required to optional",
    "z.object({ a: z.int() })",
    "z.object({ a: z.int().optional() })",
    ["safe field-now-optional input.a"],
    ["wire field-now-optional output.a"],
  ],
  [
    "required to default",
    "z.object({ a: z.int() })",
    "z.object({ a: z.int().default(0) })",
    ["safe field-now-optional input.a"],
    ["wire field-now-optional output.a"],
  ],
  ["optional to default", "z.object({ a: z.int().optional() })", "z.object({ a: z.int().default(0) })", [], []],
  [
    "default to optional",
    "z.object({ a: z.int().default(0) })",
    "z.object({ a: z.int().optional() })",
    [],
    ["source result-changed output.a"],
  ],
  [
    "nullable added",
    "z.object({ a: z.int() })",
    "z.object({ a: z.int().nullable() })",
    ["safe type-widened input.a"],
    ["wire type-widened output.a"],
  ],
  [
    "nullable removed",
    "z.object({ a: z.int().nullable() })",
    "z.object({ a: z.int() })",
    ["wire type-narrowed input.a"],
    ["safe type-narrowed output.a"],
  ],
  [
    "whole message nullable",
    "z.object({ a: z.int() })",
    "z.object({ a: z.int() }).nullable()",
    ["safe type-widened input"],
    ["wire type-widened output"],
  ],
  [
    "string to number",
    "z.object({ a: z.string() })",
    "z.object({ a: z.number() })",
    ["wire type-changed input.a"],
    ["wire type-changed output.a"],
  ],
  ["number to bigint", "z.number()", "z.bigint()", ["wire type-changed input"], ["wire type-changed output"]],
  [
    "date to string",
    "z.object({ at: z.date() })",
    "z.object({ at: z.iso.datetime() })",
    ["wire type-changed input.at"],
    ["wire type-changed output.at"],
  ],
  [
    "date to codec of a string",
    "z.date()",
    "z.codec(z.iso.datetime(), z.date(), { decode: (text) => new Date(text), encode: (date) => date.toISOString() })",
    ["wire type-changed input"],
    ["wire type-changed output"],
  ],
  [
    "string to codec of a string",
    "z.string()",
    "z.codec(z.string(), z.date(), { decode: (text) => new Date(text), encode: (date) => date.toISOString() })",
    ["validation check-tightened input"],
    ["source result-changed output", "safe check-tightened output"],
  ],
  [
    "string to bytes",
    "z.string()",
    "z.instanceof(Uint8Array)",
    ["wire type-changed input"],
    ["wire type-changed output"],
  ],
  [
    "bytes to another class of typed arrays",
    "z.instanceof(Uint8Array)",
    "z.instanceof(Float64Array)",
    ["wire type-changed input"],
    ["wire type-changed output"],
  ],
  [
    "string to any",
    "z.object({ a: z.string() })",
    "z.object({ a: z.unknown() })",
    ["safe type-widened input.a"],
    ["wire type-widened output.a"],
  ],
  [
    "any to string",
    "z.object({ a: z.any() })",
    "z.object({ a: z.string() })",
    ["wire type-narrowed input.a"],
    ["safe type-narrowed output.a"],
  ],
  [
    "coerced to plain",
    "z.object({ a: z.coerce.number() })",
    "z.object({ a: z.number() })",
    ["wire type-narrowed input.a"],
    ["safe type-narrowed output.a"],
  ],
  [
    "union option added",
    "z.union([z.string(), z.int()])",
    "z.union([z.string(), z.int(), z.boolean()])",
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  [
    "union option removed",
    "z.union([z.string(), z.int(), z.boolean()])",
    "z.union([z.string(), z.int()])",
    ["wire option-removed input"],
    ["source option-removed output"],
  ],
  ["union options in another order", "z.union([z.string(), z.int()])", "z.union([z.int(), z.string()])", [], []],
  [
    "enum value added",
    'z.enum(["a", "b"])',
    'z.enum(["a", "b", "c"])',
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  [
    "enum value removed",
    'z.enum(["a", "b", "c"])',
    'z.enum(["a", "b"])',
    ["wire option-removed input"],
    ["source option-removed output"],
  ],
  [
    "string to enum",
    "z.string()",
    'z.enum(["a", "b"])',
    ["wire option-removed input"],
    ["source option-removed output"],
  ],
  ["enum to string", 'z.enum(["a", "b"])', "z.string()", ["safe option-added input"], ["wire option-added output"]],
  ["another literal", 'z.literal("a")', 'z.literal("b")', ["wire type-changed input"], ["wire type-changed output"]],
  [
    "variant added",
    'z.discriminatedUnion("k", [z.object({ k: z.literal("a") })])',
    'z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.object({ k: z.literal("b"), n: z.int() })])',
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  [
    "variant removed",
    'z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.object({ k: z.literal("b"), n: z.int() })])',
    'z.discriminatedUnion("k", [z.object({ k: z.literal("a") })])',
    ["wire option-removed input"],
    ["source option-removed output"],
  ],
  [
    "field of a variant",
    'z.discriminatedUnion("k", [z.object({ k: z.literal("a") }), z.object({ k: z.literal("b"), n: z.int() })])',
    'z.discriminatedUnion("k", [z.object({ k: z.literal("b"), n: z.string() }), z.object({ k: z.literal("a") })])',
    ['wire type-changed input(k="b").n'],
    ['wire type-changed output(k="b").n'],
  ],
  [
    "item of a list",
    "z.object({ list: z.array(z.object({ a: z.int() })) })",
    "z.object({ list: z.array(z.object({ a: z.string() })) })",
    ["wire type-changed input.list[].a"],
    ["wire type-changed output.list[].a"],
  ],
  ["list to set", "z.array(z.int())", "z.set(z.int())", ["wire type-changed input"], ["wire type-changed output"]],
  [
    "one to list",
    "z.object({ a: z.int() })",
    "z.object({ a: z.array(z.int()) })",
    ["wire type-changed input.a"],
    ["wire type-changed output.a"],
  ],
  [
    "tuple longer",
    "z.tuple([z.int()])",
    "z.tuple([z.int(), z.int()])",
    ["wire items-added input[1]"],
    ["wire items-added output[1]"],
  ],
  [
    "tuple longer by an optional item",
    "z.tuple([z.int()])",
    "z.tuple([z.int(), z.int().optional()])",
    ["safe option-added input[1]"],
    ["wire option-added output[1]"],
  ],
  [
    "tuple shorter",
    "z.tuple([z.int(), z.int()])",
    "z.tuple([z.int()])",
    ["wire items-removed input[1]"],
    ["wire items-removed output[1]"],
  ],
  [
    "tuple with a rest",
    "z.tuple([z.int()])",
    "z.tuple([z.int()], z.string())",
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  [
    "value of a record",
    "z.record(z.string(), z.int())",
    "z.record(z.string(), z.string())",
    ["wire type-changed input{}"],
    ["wire type-changed output{}"],
  ],
  [
    "key of a map",
    "z.map(z.string(), z.int())",
    "z.map(z.int(), z.int())",
    ["wire type-changed input{key}"],
    ["wire type-changed output{key}"],
  ],
  [
    "record to partial",
    'z.record(z.enum(["a"]), z.int())',
    'z.partialRecord(z.enum(["a"]), z.int())',
    ["safe keys-now-optional input"],
    ["wire keys-now-optional output"],
  ],
  [
    "partial to record",
    'z.partialRecord(z.enum(["a"]), z.int())',
    'z.record(z.enum(["a"]), z.int())',
    ["wire keys-now-required input"],
    ["safe keys-now-required output"],
  ],
  [
    "strip to strict",
    "z.object({ a: z.int() })",
    "z.strictObject({ a: z.int() })",
    ["validation others-refused input"],
    ["safe others-refused output"],
  ],
  [
    "strict to strip",
    "z.strictObject({ a: z.int() })",
    "z.object({ a: z.int() })",
    ["safe others-dropped input"],
    ["safe others-dropped output"],
  ],
  [
    "strip to loose",
    "z.object({ a: z.int() })",
    "z.looseObject({ a: z.int() })",
    ["safe others-added input"],
    ["safe others-added output"],
  ],
  [
    "loose to strip",
    "z.looseObject({ a: z.int() })",
    "z.object({ a: z.int() })",
    ["source others-removed input"],
    ["source others-removed output"],
  ],
  [
    "strict to loose",
    "z.strictObject({ a: z.int() })",
    "z.looseObject({ a: z.int() })",
    ["safe others-added-refused input"],
    ["wire others-added-refused output"],
  ],
  [
    "loose to strict",
    "z.looseObject({ a: z.int() })",
    "z.strictObject({ a: z.int() })",
    ["wire others-removed-refused input"],
    ["source others-removed-refused output"],
  ],
  [
    "catchall",
    "z.object({}).catchall(z.int())",
    "z.object({}).catchall(z.string())",
    ["wire type-changed input{}"],
    ["wire type-changed output{}"],
  ],
  [
    "minimum length added",
    "z.string()",
    "z.string().min(3)",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "minimum length raised",
    "z.string().min(3)",
    "z.string().min(4)",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "minimum length lowered",
    "z.string().min(4)",
    "z.string().min(3)",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "maximum lowered",
    "z.object({ a: z.number().max(9) })",
    "z.object({ a: z.number().max(8) })",
    ["validation check-tightened input.a"],
    ["safe check-tightened output.a"],
  ],
  [
    "maximum gone",
    "z.number().max(9)",
    "z.number()",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  ["number to integer", "z.number()", "z.int()", ["validation check-tightened input"], ["safe check-tightened output"]],
  ["integer to number", "z.int()", "z.number()", ["safe check-loosened input"], ["validation check-loosened output"]],
  ["format added", "z.string()", "z.email()", ["validation check-tightened input"], ["safe check-tightened output"]],
  ["format changed", "z.uuid()", "z.email()", ["validation check-changed input"], ["validation check-changed output"]],
  [
    "a function checks an enum",
    "z.enum(['a', 'b'])",
    "z.enum(['a', 'b']).refine((v) => v !== 'b')",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a function checks a tuple",
    "z.tuple([z.string()])",
    "z.tuple([z.string()]).refine((v) => v !== 'b')",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a function checks a union",
    "z.union([z.string(), z.int()])",
    "z.union([z.string(), z.int()]).refine((v) => v !== 'b')",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a function checks an option",
    "z.string().optional()",
    "z.string().optional().refine((v) => v !== 'b')",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a function checks an intersection",
    "z.intersection(z.object({ a: z.int() }), z.object({ b: z.int() }))",
    "z.intersection(z.object({ a: z.int() }), z.object({ b: z.int() })).refine((v) => v !== 'b')",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a function checks an intersection of tables",
    "z.intersection(z.record(z.string(), z.int()), z.map(z.string(), z.int()))",
    "z.intersection(z.record(z.string(), z.int()), z.map(z.string(), z.int())).refine((v) => v !== 'b')",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a function checks bytes",
    "z.instanceof(Uint8Array)",
    "z.instanceof(Uint8Array).refine((v) => v !== 'b')",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a function checks a template literal",
    "z.templateLiteral(['a', z.int()])",
    "z.templateLiteral(['a', z.int()]).refine((v) => v !== 'b')",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a function checks what is lazy",
    "z.lazy(() => z.int())",
    "z.lazy(() => z.int()).refine((v) => v !== 'b')",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a function checks what is readonly",
    "z.object({ a: z.int() }).readonly()",
    "z.object({ a: z.int() }).readonly().refine((v) => v !== 'b')",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a function checks a transform",
    "z.string().transform((text) => text.length)",
    "z.string().transform((text) => text.length).refine((v) => v !== 'b')",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a function checks a discriminated union",
    "z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })])",
    "z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })]).refine((v) => v !== 'b')",
    ['validation check-tightened input(k="a")', 'validation check-tightened input(k="b")'],
    ['safe check-tightened output(k="a")', 'safe check-tightened output(k="b")'],
  ],
  [
    "a nullable field is checked",
    "z.object({ a: z.string().nullable() })",
    "z.object({ a: z.string().nullable().refine((v) => v !== null) })",
    ["validation check-tightened input.a"],
    ["safe check-tightened output.a"],
  ],
  [
    "a field with a default is checked",
    "z.object({ a: z.string().default('x') })",
    "z.object({ a: z.string().default('x').refine((v) => v === 'x') })",
    ["validation check-tightened input.a"],
    ["safe check-tightened output.a"],
  ],
  [
    "values of a union are no longer replaced",
    "z.object({ a: z.union([z.int(), z.boolean()]).catch(1) })",
    "z.object({ a: z.union([z.int(), z.boolean()]) })",
    ["wire field-now-required input.a", "validation check-tightened input.a"],
    ["safe field-now-required output.a", "safe check-tightened output.a"],
  ],
  [
    "z.iso.datetime({ offset: true }) to z.iso.datetime()",
    "z.iso.datetime({ offset: true })",
    "z.iso.datetime()",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "z.iso.datetime() to z.iso.datetime({ local: true })",
    "z.iso.datetime()",
    "z.iso.datetime({ local: true })",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "z.iso.datetime() to z.iso.datetime({ precision: 0 })",
    "z.iso.datetime()",
    "z.iso.datetime({ precision: 0 })",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "z.iso.time({ precision: 3 }) to z.iso.time({ precision: 6 })",
    "z.iso.time({ precision: 3 })",
    "z.iso.time({ precision: 6 })",
    ["validation check-changed input"],
    ["validation check-changed output"],
  ],
  [
    'z.uuid() to z.uuid({ version: "v7" })',
    "z.uuid()",
    "z.uuid({ version: 'v7' })",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "z.uuidv4() to z.uuidv7()",
    "z.uuidv4()",
    "z.uuidv7()",
    ["validation check-changed input"],
    ["validation check-changed output"],
  ],
  [
    "z.url() to z.url({ protocol: /^https$/ })",
    "z.url()",
    "z.url({ protocol: /^https$/ })",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "z.url({ hostname: /^a$/ }) to z.url()",
    "z.url({ hostname: /^a$/ })",
    "z.url()",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "z.email() to z.email({ pattern: /@corp\\.com$/ })",
    "z.email()",
    "z.email({ pattern: /@corp\\\\.com$/ })",
    ["validation check-changed input"],
    ["validation check-changed output"],
  ],
  [
    "z.string().email() to z.string().email({ pattern: /@corp\\.com$/ })",
    "z.string().email()",
    "z.string().email({ pattern: /@corp\\\\.com$/ })",
    ["validation check-changed input"],
    ["validation check-changed output"],
  ],
  [
    'z.jwt() to z.jwt({ alg: "RS256" })',
    "z.jwt()",
    "z.jwt({ alg: 'RS256' })",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    'z.mac() to z.mac({ delimiter: "-" })',
    "z.mac()",
    "z.mac({ delimiter: '-' })",
    ["validation check-changed input"],
    ["validation check-changed output"],
  ],
  [
    'z.stringFormat("x", /^a/) to z.stringFormat("x", /^b/)',
    "z.stringFormat('x', /^a/)",
    "z.stringFormat('x', /^b/)",
    ["validation check-changed input"],
    ["validation check-changed output"],
  ],
  [
    'z.stringFormat("a.x", /^a/) to z.stringFormat("a.x", /^b/)',
    "z.stringFormat('a.x', /^a/)",
    "z.stringFormat('a.x', /^b/)",
    ["validation check-changed input"],
    ["validation check-changed output"],
  ],
  [
    "z.string().email() to z.string().email().url()",
    "z.string().email()",
    "z.string().email().url()",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "z.int().multipleOf(2) to z.int().multipleOf(3).multipleOf(2)",
    "z.int().multipleOf(2)",
    "z.int().multipleOf(3).multipleOf(2)",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "z.bigint().min(9007199254740992n) to z.bigint().min(9007199254740993n)",
    "z.bigint().min(9007199254740992n)",
    "z.bigint().min(9007199254740993n)",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "an option with a format gone",
    "z.union([z.email(), z.url()])",
    "z.email()",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "the first option with a format gone",
    "z.union([z.url(), z.email()])",
    "z.email()",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "a format beside another",
    "z.email()",
    "z.union([z.email(), z.url()])",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "an enum to short text",
    "z.enum(['abcdef', 'x'])",
    "z.string().max(3)",
    ["validation check-tightened input", "safe option-added input"],
    ["wire option-added output", "safe check-tightened output"],
  ],
  [
    "an enum to text that takes all of it",
    "z.enum(['abc', 'x'])",
    "z.string().max(3).regex(/^[a-z]+$/)",
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  [
    "a number to bounded numbers",
    "z.literal(5)",
    "z.int().max(3)",
    ["validation check-tightened input", "safe option-added input"],
    ["wire option-added output", "safe check-tightened output"],
  ],
  [
    "pattern added",
    "z.string()",
    "z.string().regex(/^a/)",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "pattern changed",
    "z.string().regex(/^a/)",
    "z.string().regex(/^b/)",
    ["validation check-tightened input", "safe check-loosened input"],
    ["validation check-loosened output", "safe check-tightened output"],
  ],
  [
    "refinement added",
    "z.object({ a: z.int() })",
    "z.object({ a: z.int() }).refine(({ a }) => a > 1)",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "list shorter",
    "z.array(z.int()).max(10)",
    "z.array(z.int()).max(5)",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "size of a set",
    "z.set(z.int())",
    "z.set(z.int()).min(1)",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "latest date",
    "z.date()",
    "z.date().max(new Date(0))",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  [
    "multiple",
    "z.number().multipleOf(2)",
    "z.number().multipleOf(3)",
    ["validation check-changed input"],
    ["validation check-changed output"],
  ],
  [
    "catch removed",
    "z.object({ a: z.int().catch(0) })",
    "z.object({ a: z.int() })",
    ["wire field-now-required input.a", "validation check-tightened input.a"],
    ["safe field-now-required output.a", "safe check-tightened output.a"],
  ],
  [
    "template",
    "z.templateLiteral(['a', z.int()])",
    "z.templateLiteral(['b', z.int()])",
    ["validation check-tightened input", "safe check-loosened input"],
    ["validation check-loosened output", "safe check-tightened output"],
  ],
  ["deep in a recursive type", "Tree", "Bush", ["wire type-changed input.leaf"], ["wire type-changed output.leaf"]],
];

/** Checks of which one asks for no more than the other, though it says other things. */
const implied: readonly MessagePair[] = [
  [
    "z.string().email().url() to z.string().url()",
    "z.string().email().url()",
    "z.string().url()",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "z.string().url().email() to z.string().email().url()",
    "z.string().url().email()",
    "z.string().email().url()",
    [],
    [],
  ],
  [
    "z.iso.datetime({ offset: true }) to z.string()",
    "z.iso.datetime({ offset: true })",
    "z.string()",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "z.string().email().check(z.iso.datetime({ offset: true })) to z.iso.datetime()",
    "z.string().email().check(z.iso.datetime({ offset: true }))",
    "z.iso.datetime()",
    ["validation check-tightened input", "safe check-loosened input"],
    ["validation check-loosened output", "safe check-tightened output"],
  ],
  [
    "z.number().multipleOf(2).multipleOf(3) to z.number().multipleOf(3)",
    "z.number().multipleOf(2).multipleOf(3)",
    "z.number().multipleOf(3)",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "z.number().multipleOf(2).multipleOf(3) to z.number().multipleOf(6)",
    "z.number().multipleOf(2).multipleOf(3)",
    "z.number().multipleOf(6)",
    [],
    [],
  ],
  [
    "z.number().multipleOf(0.5) to z.number().multipleOf(0.25)",
    "z.number().multipleOf(0.5)",
    "z.number().multipleOf(0.25)",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "z.bigint().multipleOf(4n) to z.bigint().multipleOf(2n)",
    "z.bigint().multipleOf(4n)",
    "z.bigint().multipleOf(2n)",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "z.int() to z.number().multipleOf(1)",
    "z.int()",
    "z.number().multipleOf(1)",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  ["z.int32() to z.int()", "z.int32()", "z.int()", ["safe check-loosened input"], ["validation check-loosened output"]],
  [
    "z.int32() to z.number()",
    "z.int32()",
    "z.number()",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "z.int().min(-2147483648).max(2147483647) to z.int32()",
    "z.int().min(-2147483648).max(2147483647)",
    "z.int32()",
    [],
    [],
  ],
  [
    "z.int().min(0).max(9) to z.uint32()",
    "z.int().min(0).max(9)",
    "z.uint32()",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "z.uint32() to z.int32()",
    "z.uint32()",
    "z.int32()",
    ["validation check-changed input"],
    ["validation check-changed output"],
  ],
  ["z.number() to z.float64()", "z.number()", "z.float64()", [], []],
  [
    "z.uint64() to z.bigint().min(0n)",
    "z.uint64()",
    "z.bigint().min(0n)",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  ["z.int().gt(4) to z.int().min(5)", "z.int().gt(4)", "z.int().min(5)", [], []],
  ["z.bigint().lt(4n) to z.bigint().max(3n)", "z.bigint().lt(4n)", "z.bigint().max(3n)", [], []],
  [
    "z.number().gt(4) to z.number().min(4)",
    "z.number().gt(4)",
    "z.number().min(4)",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "z.number().gt(4) to z.number().min(5)",
    "z.number().gt(4)",
    "z.number().min(5)",
    ["validation check-tightened input"],
    ["safe check-tightened output"],
  ],
  ["z.string() to z.string().min(0)", "z.string()", "z.string().min(0)", [], []],
  [
    "z.date().min(new Date(5)) to z.date().min(new Date(4))",
    "z.date().min(new Date(5))",
    "z.date().min(new Date(4))",
    ["safe check-loosened input"],
    ["validation check-loosened output"],
  ],
  [
    "z.literal(4) to z.number().multipleOf(2)",
    "z.literal(4)",
    "z.number().multipleOf(2)",
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  [
    "z.literal(3) to z.number().multipleOf(2)",
    "z.literal(3)",
    "z.number().multipleOf(2)",
    ["validation check-tightened input", "safe option-added input"],
    ["wire option-added output", "safe check-tightened output"],
  ],
  [
    "z.literal([0.5, 4]) to z.number().gt(0).lt(5).multipleOf(0.5)",
    "z.literal([0.5, 4])",
    "z.number().gt(0).lt(5).multipleOf(0.5)",
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  ["z.literal(4) to z.int32()", "z.literal(4)", "z.int32()", ["safe option-added input"], ["wire option-added output"]],
  [
    "z.literal(2147483648) to z.int32()",
    "z.literal(2147483648)",
    "z.int32()",
    ["validation check-tightened input", "safe option-added input"],
    ["wire option-added output", "safe check-tightened output"],
  ],
  [
    "z.literal(4n) to z.int64().multipleOf(2n)",
    "z.literal(4n)",
    "z.int64().multipleOf(2n)",
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  [
    "z.literal(0.5) to z.int()",
    "z.literal(0.5)",
    "z.int()",
    ["validation check-tightened input", "safe option-added input"],
    ["wire option-added output", "safe check-tightened output"],
  ],
  [
    "z.union([z.literal(1), z.literal('a@b.cd')]) to z.union([z.int(), z.email()])",
    "z.union([z.literal(1), z.literal('a@b.cd')])",
    "z.union([z.int(), z.email()])",
    ["safe option-added input", "safe option-added input"],
    ["wire option-added output", "wire option-added output"],
  ],
  [
    "z.enum(['a@b.cd', 'e@f.gh']) to z.email().max(9)",
    "z.enum(['a@b.cd', 'e@f.gh'])",
    "z.email().max(9)",
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  [
    "z.enum(['a@b.cd', 'e']) to z.email()",
    "z.enum(['a@b.cd', 'e'])",
    "z.email()",
    ["validation check-tightened input", "safe option-added input"],
    ["wire option-added output", "safe check-tightened output"],
  ],
  [
    "z.literal('2020-01-01T00:00:00+01:00') to z.iso.datetime({ offset: true, precision: 0 })",
    "z.literal('2020-01-01T00:00:00+01:00')",
    "z.iso.datetime({ offset: true, precision: 0 })",
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  [
    "z.literal('2020-01-01T00:00:00+01:00') to z.iso.datetime()",
    "z.literal('2020-01-01T00:00:00+01:00')",
    "z.iso.datetime()",
    ["validation check-tightened input", "safe option-added input"],
    ["wire option-added output", "safe check-tightened output"],
  ],
  [
    "z.literal('https://a.b') to z.url({ protocol: /^https$/ })",
    "z.literal('https://a.b')",
    "z.url({ protocol: /^https$/ })",
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  [
    "z.literal('http://a.b') to z.url({ protocol: /^https$/ })",
    "z.literal('http://a.b')",
    "z.url({ protocol: /^https$/ })",
    ["validation check-tightened input", "safe option-added input"],
    ["wire option-added output", "safe check-tightened output"],
  ],
  [
    "z.literal('a') to z.stringFormat('x', /^a/)",
    "z.literal('a')",
    "z.stringFormat('x', /^a/)",
    ["validation check-tightened input", "safe option-added input"],
    ["wire option-added output", "safe check-tightened output"],
  ],
  [
    "z.literal('a') to z.enum(['a', 'b'])",
    "z.literal('a')",
    "z.enum(['a', 'b'])",
    ["safe option-added input"],
    ["wire option-added output"],
  ],
  [
    "z.email() to z.union([z.literal('a@b.cd'), z.email()])",
    "z.email()",
    "z.union([z.literal('a@b.cd'), z.email()])",
    [],
    [],
  ],
];

const TYPES = `
const Tree = z.object({ leaf: z.int(), get children() { return z.array(Tree); } });
const Bush = z.object({ leaf: z.string(), get children() { return z.array(Bush); } });
`;

describe("messages", () => {
  const all = [...messages, ...implied];
  let changes: readonly Change[] = [];
  beforeAll(async () => {
    const version = (at: 1 | 2): Promise<SchemaSnapshot> =>
      snapshot(
        `export const A = service("a.A", {\n${all
          .map(
            (pair, index) => `  in${index}: rpc({ input: ${pair[at]} }),\n  out${index}: rpc({ output: ${pair[at]} }),`,
          )
          .join("\n")}\n});`,
        TYPES,
      );
    changes = compareSnapshots(await version(1), await version(2));
  });

  test.each(all.map(([name, , , input, output], index) => ({ name, input, output, index })))(
    "$name",
    ({ input, output, index }) => {
      const of = (method: string): string[] => changes.filter((each) => each.method === method).map(show);
      expect({ input: of(`in${index}`), output: of(`out${index}`) }).toEqual({
        input,
        output,
      });
    },
  );
});

describe("methods and services", () => {
  const A = (methods: string, name = "a.A"): string => `export const A = service("${name}", { ${methods} });`;
  const items = (cursor: string): string =>
    `m: rpc({ output: stream(z.object({ id: z.int(), at: z.int() }))${cursor} })`;
  const kept = "keep: rpc()";

  test.each([
    ["method added", A(kept), A(`${kept}, more: rpc()`), ["safe method-added"]],
    ["method removed", A(`${kept}, less: rpc()`), A(kept), ["wire method-removed"]],
    [
      "unary to stream",
      A("m: rpc({ output: z.int() })"),
      A("m: rpc({ output: stream(z.int()) })"),
      ["wire method-kind-changed"],
    ],
    [
      "stream to unary",
      A("m: rpc({ input: stream(z.int()) })"),
      A("m: rpc({ input: z.int() })"),
      ["wire method-kind-changed"],
    ],
    [
      "rpc to notify",
      A("m: rpc({ input: z.int() })"),
      A("m: notify({ input: z.int() })"),
      ["wire method-kind-changed"],
    ],
    [
      "item of a stream",
      A("m: rpc({ output: stream(z.int()) })"),
      A("m: rpc({ output: stream(z.string()) })"),
      ["wire type-changed output"],
    ],
    [
      "messages of bytes to raw bytes",
      A("m: rpc({ output: stream(z.instanceof(Uint8Array)) })"),
      A("m: rpc({ output: bytes() })"),
      ["wire type-changed output"],
    ],
    ["read-only", A("m: rpc({ idempotent: true })"), A("m: rpc({ readOnly: true })"), ["safe read-only-added"]],
    ["idempotent", A("m: rpc()"), A("m: rpc({ idempotent: true })"), ["safe idempotent-added"]],
    ["once", A("m: rpc()"), A("m: rpc({ once: true })"), ["wire once-added"]],
    ["no longer once", A("m: rpc({ once: true })"), A("m: rpc()"), ["wire once-removed"]],
    [
      "cursor added",
      A(items("")),
      A(items(', cursor: "id"')),
      ["safe cursor-added", "safe error-added errors.CURSOR_EXPIRED", "safe error-added errors.CURSOR_GAP"],
    ],
    [
      "cursor removed",
      A(items(', cursor: "id"')),
      A(items("")),
      ["wire cursor-removed", "source error-removed errors.CURSOR_EXPIRED", "source error-removed errors.CURSOR_GAP"],
    ],
    ["another cursor", A(items(', cursor: "id"')), A(items(', cursor: "at"')), ["wire cursor-changed"]],
    [
      "another predecessor",
      A(items(', cursor: "id"')),
      A(items(', cursor: { field: "id", predecessor: "at" }')),
      ["wire cursor-changed"],
    ],
    ["the same cursor, said in another way", A(items(', cursor: "id"')), A(items(', cursor: { field: "id" }')), []],
    [
      "no longer read-only",
      A("m: rpc({ readOnly: true })"),
      A("m: rpc({ idempotent: true })"),
      ["wire read-only-removed"],
    ],
    ["no longer idempotent", A("m: rpc({ idempotent: true })"), A("m: rpc()"), ["wire idempotent-removed"]],
    ["input added", A("m: rpc()"), A("m: rpc({ input: z.int() })"), ["wire input-added input"]],
    ["input removed", A("m: rpc({ input: z.int() })"), A("m: rpc()"), ["source input-removed input"]],
    ["output added", A("m: rpc()"), A("m: rpc({ output: z.int() })"), ["safe output-added output"]],
    ["output removed", A("m: rpc({ output: z.int() })"), A("m: rpc()"), ["wire output-removed output"]],
    [
      "methods in another order",
      A("a: rpc(), b: rpc()"),
      A("b: rpc(), a: rpc()"),
      ["wire method-id-changed", "wire method-id-changed"],
    ],
    ["method renamed", A("a: rpc(), b: rpc()"), A("a: rpc(), c: rpc()"), ["source method-renamed"]],
    ["service removed", `${A(kept)}\nexport const B = service("b.B", { ${kept} });`, A(kept), ["wire service-removed"]],
    ["service added", A(kept), `${A(kept)}\nexport const B = service("b.B", { ${kept} });`, ["safe service-added"]],
    ["service renamed without its id", A(kept), A(kept, "a.B"), ["wire service-removed", "safe service-added"]],
    [
      "type renamed",
      `const Point = z.object({ x: z.int() });\n${A("m: rpc({ input: Point })")}`,
      `const Place = z.object({ x: z.int() });\n${A("m: rpc({ input: Place })")}`,
      ["source type-renamed Point"],
    ],
  ])("%s", async (_, before, after, expected) => {
    expect(compareSnapshots(await snapshot(before), await snapshot(after)).map(show)).toEqual(expected);
  });

  test("a service that keeps its id under another name is renamed", async () => {
    const before = await snapshot(A(kept));
    const { "a.A": service } = before.services;
    if (service === undefined) return expect.unreachable();
    const after: SchemaSnapshot = { version: 2, services: { "a.B": service } };
    expect(compareSnapshots(before, after).map(show)).toEqual(["source service-renamed"]);
    const moved: SchemaSnapshot = { version: 2, services: { "a.A": { ...service, id: 1 } } };
    expect(compareSnapshots(before, moved).map(show)).toEqual(["wire service-id-changed"]);
  });

  test("checks of a service are not compared with what another format tells", async () => {
    const before = await snapshot(A("m: rpc({ input: z.object({ a: z.int(), b: z.string() }) })"));
    const after = await snapshot(A("m: rpc({ input: z.object({ a: z.int().min(1), b: z.int() }) })"));
    const { "a.A": service } = before.services;
    if (service === undefined) return expect.unreachable();
    const { format, ...older } = service;
    expect(format).toBe(SHAPE_FORMAT);
    expect(compareSnapshots(before, after).map(show)).toEqual([
      "wire type-changed input.b",
      "validation check-tightened input.a",
    ]);
    for (const other of [older, { ...older, format: SHAPE_FORMAT + 1 }]) {
      const changes = compareSnapshots({ version: 2, services: { "a.A": other } }, after);
      expect(changes.map(show)).toEqual(["wire type-changed input.b"]);
    }
  });

  test("errors and delivery", () => {
    const version = (method: object): SchemaSnapshot => ({
      version: 2,
      services: { "a.A": { id: 1, types: {}, methods: { m: { id: 1, kind: "unary", ...method } } } },
    });
    const errors = (table: object): SchemaSnapshot => version({ errors: table });
    const compare = (before: SchemaSnapshot, after: SchemaSnapshot): string[] =>
      compareSnapshots(before, after).map(show);
    const full = { code: "not_found", details: { kind: "string" } };
    expect(compare(errors({}), errors({ GONE: full }))).toEqual(["safe error-added errors.GONE"]);
    expect(compare(errors({ GONE: full }), errors({}))).toEqual(["source error-removed errors.GONE"]);
    expect(compare(errors({ GONE: full }), errors({ GONE: { ...full, code: "aborted" } }))).toEqual([
      "wire error-code-changed errors.GONE",
    ]);
    expect(compare(errors({ GONE: full }), errors({ GONE: { ...full, details: { kind: "number" } } }))).toEqual([
      "wire type-changed errors.GONE",
    ]);
    expect(compare(version({}), version({ delivery: "datagram" }))).toEqual(["safe delivery-changed"]);
  });
});

describe("with clients over HTTP", () => {
  const service = (name: string, methods: string): Promise<SchemaSnapshot> =>
    snapshot(`export const S = service("${name}", { ${methods} });`);

  test.each([
    ["a method is renamed", "a: rpc({})", "b: rpc({})", ["wire path-changed", "source method-renamed"]],
    [
      "JSON says no longer all",
      "a: rpc({ input: z.string() })",
      "a: rpc({ input: z.union([z.string(), z.date()]) })",
      ["wire json-removed", "safe option-added input"],
    ],
    [
      "JSON says all now",
      "a: rpc({ output: z.object({ b: z.map(z.object({}), z.string()).optional() }) })",
      "a: rpc({ output: z.object({ b: z.map(z.string(), z.string()).optional() }) })",
      ["wire type-changed output.b{key}", "safe json-added"],
    ],
  ])("%s", async (_name, before, after, expected) => {
    const [old, now] = [await service("test.v1.S", before), await service("test.v1.S", after)];
    expect(compareSnapshots(old, now, { http: true }).map(show)).toEqual(expect.arrayContaining(expected));
    expect(compareSnapshots(old, now).map(show).join()).not.toMatch(/path-changed|json-/);
  });

  test("recursive types are compared", async () => {
    const tree = (leaf: string): Promise<SchemaSnapshot> =>
      snapshot(
        `export const S = service("test.v1.S", { a: rpc({ input: Tree }) });`,
        `type T = { leaf: unknown; parts: T[] };
        const Tree: z.ZodType<T> = z.object({ leaf: ${leaf}, parts: z.lazy(() => z.array(Tree)) });`,
      );
    const changes = compareSnapshots(await tree("z.string()"), await tree("z.unknown()"), { http: true });
    expect(changes.map(show)).toContain("wire json-removed");
  });
});
