// Verdicts of `quicrpc breaking` on changes that are easy to misjudge. The codecs of both versions say what is right.
import { RpcError } from "@quicrpc/core";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { SHAPE_CHANGES } from "../src/breaking/change.js";
import { compareShapes } from "../src/breaking/compare-shapes.js";
import { compileService, encode, shapeIn } from "./codec/compile.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

/** A value that the sender of a changed message sends, and whether the other side takes it. */
type Case = readonly [
  role: "input" | "output",
  before: string,
  after: string,
  sent: unknown,
  outcome: "taken" | "refused",
];

const A = "z.object({ a: z.int() })";
const withB = (b: string): string => `z.object({ a: z.int(), b: ${b} })`;
const both = (a: string): string => `z.intersection(${a}, z.object({ b: z.int() }))`;
const property = (name: string, schema: string): string => `z.string().check(z.property("${name}", ${schema}))`;
const CASES: readonly Case[] = [
  // Fields that may be undefined, but may not be left out.
  ...["z.undefined()", "z.void()", "z.literal(undefined)", "z.union([z.int(), z.undefined()])"].map(
    (b): Case => ["input", A, withB(b), { a: 1 }, "refused"],
  ),
  ["input", withB("z.int().optional()"), withB("z.union([z.int(), z.undefined()])"), { a: 1 }, "refused"],
  // What a pipe takes is what both of its ends take.
  ["input", "z.string()", "z.string().pipe(z.email())", "a", "refused"],
  ["input", "z.int()", "z.int().pipe(z.int().max(3))", 4, "refused"],
  ["output", "z.string().pipe(z.email())", "z.string()", "a", "refused"],
  ["output", "z.int().pipe(z.int().max(3))", "z.int()", 4, "refused"],
  // Codecs.
  ["input", "z.string()", `z.codec(z.string(), z.int().max(3), { decode: Number, encode: String })`, "4", "refused"],
  ["input", "z.string()", "z.stringbool()", "perhaps", "refused"],
  [
    "input",
    "z.codec(z.string(), z.int().max(9), { decode: Number, encode: String })",
    "z.codec(z.string(), z.int().max(3), { decode: Number, encode: String })",
    "4",
    "refused",
  ],
  // Coercion and conversions before checks.
  ["input", "z.coerce.number()", "z.coerce.number().min(5)", "4", "refused"],
  ["input", "z.string().min(2)", "z.string().trim().min(2)", " a", "refused"],
  ["input", "z.string().min(2).trim()", "z.string().trim().min(2)", " a", "refused"],
  // Unions that take one option exactly, records that pass other keys on.
  ["input", "z.union([z.string(), z.string().min(2)])", "z.xor([z.string(), z.string().min(2)])", "ab", "refused"],
  ["output", "z.xor([z.string(), z.string().min(2)])", "z.union([z.string(), z.string().min(2)])", "ab", "refused"],
  ["input", "z.xor([z.string(), z.int()])", "z.xor([z.string(), z.int(), z.email()])", "a@b.cd", "refused"],
  [
    "input",
    'z.looseRecord(z.string().startsWith("x"), z.int())',
    'z.record(z.string().startsWith("x"), z.int())',
    { y: "other" },
    "refused",
  ],
  ["output", "z.mac()", 'z.mac({ delimiter: "-" })', "00-1a-2b-3c-4d-5e", "refused"],
  // An item that is undefined, where there were further items.
  ["output", "z.tuple([z.int()], z.int())", "z.tuple([z.int(), z.int().optional()])", [1, undefined], "refused"],
  [
    "output",
    "z.tuple([z.int()], z.int())",
    "z.tuple([z.int(), z.int().optional()], z.int())",
    [1, undefined, 2],
    "refused",
  ],
  // Compatible.
  ["input", "z.enum(Numbered)", "z.literal([0, 1])", 1, "taken"],
  [
    "input",
    "z.union([z.object({ a: z.int() }), z.object({ b: z.int() })])",
    "z.union([z.object({ b: z.int() }), z.object({ a: z.int() })])",
    { b: 1 },
    "taken",
  ],
  ["input", A, withB("z.int().catch(7)"), { a: 1 }, "taken"],
  // Checks of what may be absent, and of what is replaced if it does not fit.
  ["input", "z.coerce.number().max(9).optional()", "z.coerce.number().max(3).optional()", 4, "refused"],
  ["input", 'z.enum(["a", "b"]).catch("a")', "z.string()", 5, "refused"],
  // Objects of intersections with checks of their own.
  ["input", both(A), both(`${A}.refine(({ a }) => a !== 1)`), { a: 1, b: 1 }, "refused"],
  ["output", both(`${A}.refine(({ a }) => a !== 1)`), both(A), { a: 1, b: 1 }, "refused"],
  ["input", both(A), both("z.object({ a: z.int().min(2) })"), { a: 1, b: 1 }, "refused"],
  // Functions that change a text before it is checked.
  ["input", "z.string().trim().regex(/^[a-z ]+$/)", "z.string().toLowerCase().regex(/^[a-z]+$/)", " a", "refused"],
  ["input", "z.string().trim().max(1)", "z.string().toLowerCase().max(1)", " a", "refused"],
  ["input", 'z.string().normalize("NFC").max(1)', 'z.string().normalize("NFKC").max(1)', "\ufb01", "refused"],
  ["input", "z.string().trim().max(2).toUpperCase()", "z.string().trim().toUpperCase().max(2)", "\ufb03", "refused"],
  ["input", "z.string().min(2)", "z.string().trim().pipe(z.string().min(2))", "a ", "refused"],
  // Items that may be undefined.
  ["input", "z.array(z.int().optional())", "z.array(z.int().exactOptional())", [undefined], "refused"],
  [
    "output",
    "z.tuple([z.int().exactOptional(), z.int()])",
    "z.tuple([z.int().optional(), z.int()])",
    [undefined, 1],
    "refused",
  ],
  // Properties.
  ["input", property("length", "z.int().min(1)"), property("length", "z.int().min(2)"), "a", "refused"],
  ["output", "z.string().check(z.property('length', z.int().min(2)))", "z.string()", "a", "refused"],
  // Words.
  ["input", "z.stringbool()", 'z.stringbool({ truthy: ["si"], falsy: ["no"] })', "yes", "refused"],
  ["input", "z.stringbool()", 'z.stringbool({ case: "sensitive" })', "Yes", "refused"],
  // Options of formats.
  ["input", "z.email({ pattern: z.regexes.html5Email })", "z.email()", "a@b", "refused"],
  ["input", "z.iso.datetime({ precision: -1 })", "z.iso.datetime()", "2020-01-01T06:15Z", "refused"],
  // Numbers that JSON, in which versions are kept, has not.
  ["input", "z.literal(NaN)", "z.null()", Number.NaN, "refused"],
];

describe("verdicts of breaking", async () => {
  const version = (at: 1 | 2, name: string) =>
    compileService(
      workspace,
      `${name}.service.ts`,
      CASES.map((each) => ({ source: each[at], valid: fc.constant(undefined), lossy: false })),
      true,
      "enum Numbered { A, B }",
    );
  const [before, after] = [await version(1, "before"), await version(2, "after")];

  for (const [index, [role, old, now, sent, outcome]] of CASES.entries()) {
    const title = `an ${role} that was ${old} and is ${now}`;
    test(`${title}: ${fc.stringify(sent)} is ${outcome}`, () => {
      const [from, to] = role === "input" ? [before, after] : [after, before];
      const [sender = expect.unreachable(), receiver = expect.unreachable()] = [from, to].map(
        ({ samples }) => samples[index],
      );
      const bytes = encode(sender.codec, sent);
      const decode = (): unknown => receiver.codec.decode(bytes, 0, bytes.length);
      if (outcome === "taken") expect(decode).not.toThrow();
      else expect(decode).toThrow(RpcError);
    });

    test(`${title}: the verdict says so`, () => {
      // As versions are kept: in a file of JSON.
      const [was, is] = [before, after].map((each) => JSON.parse(JSON.stringify(shapeIn(each, `m${index}`))));
      const classes: string[] = [];
      compareShapes(was, is, "message", (kind) => classes.push(SHAPE_CHANGES[kind][role === "input" ? 0 : 1]));
      const breaks = classes.some((each) => each === "wire" || each === "validation");
      expect(breaks).toBe(outcome === "refused");
    });
  }
});
