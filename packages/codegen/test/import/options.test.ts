// Options of fields: what becomes a check or default, and what is refused.
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { z } from "zod";
import { writeGenerated } from "../../src/index.js";
import { importProtos } from "../../src/import/index.js";
import { createWorkspace } from "../workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

let count = 0;

async function imported(
  field: string,
  syntax = "proto3",
): Promise<{ readonly A: z.ZodType; readonly text: string; readonly warnings: readonly string[] }> {
  const folder = `case${count++}`;
  const head = `syntax = "${syntax}";\nimport "google/protobuf/duration.proto";\nimport "google/protobuf/struct.proto";\n`;
  const file = workspace.write(`${folder}/a.proto`, `${head}enum E { Z = 0; O = 1; }\nmessage A { ${field} }`);
  const { files, diagnostics, warnings } = importProtos({ files: [file], out: folder, cwd: workspace.path });
  expect(diagnostics).toEqual([]);
  writeGenerated(files);
  const { A } = (await import(/* @vite-ignore */ join(workspace.path, folder, "a.ts"))) as { A: z.ZodType };
  return { A, text: files.at(-1)?.text ?? "", warnings: warnings.map(({ message }) => message) };
}

const EVIL = "globalThis.pwned=1";

test.each(["string", "bool", "int32", "int64", "float", "double", "bytes", "E"])(
  "options of %s are printed only as literals of the type",
  async (type) => {
    const kind = type === "E" ? "enum" : type;
    const own = `(buf.validate.field).${kind}`;
    const values = [`["0", "${EVIL}"]`, `[[0], "${EVIL}"]`, `{ a: "${EVIL}" }`].filter(
      (each) => !each.startsWith("[["),
    );
    for (const name of ["const", "in", "not_in", "gt", "lte", "min_len", "len", "pattern", "prefix", "contains"]) {
      for (const value of values) {
        const { text } = await imported(`${type} a = 1 [${own} = { ${name}: ${value} }];`);
        expect(text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')).not.toContain("pwned");
      }
      if (type !== "string") {
        const { text } = await imported(`${type} a = 1 [${own}.${name} = "x", ${own}.${name} = "${EVIL}"];`);
        expect(text).not.toContain("pwned");
      }
    }
    const { text } = await imported(`optional ${type} a = 1 [default = "${EVIL}"];`, "proto2");
    expect(text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')).not.toContain("pwned");
    expect((globalThis as { pwned?: unknown }).pwned).toBeUndefined();
  },
);

const rules = (kind: string, text: string): string => `[(buf.validate.field).${kind} = { ${text} }]`;
const required = "[(buf.validate.field).required = true]";
const bytes = (...all: number[]): Uint8Array => Uint8Array.from(all);

/** A field named `a`, values that pass its rule, and values that do not. */
const CHECKS: readonly (readonly [field: string, good: readonly unknown[], bad: readonly unknown[]])[] = [
  [`map<int32, string> a = 1 ${required};`, [new Map([[1, "x"]])], [new Map()]],
  [`map<string, string> a = 1 ${required};`, [{ x: "" }], [{}]],
  [`repeated string a = 1 ${required};`, [[""]], [[]]],
  [`repeated google.protobuf.Duration a = 1 ${required};`, [[{ seconds: 1n, nanos: 0 }]], [[]]],
  [`map<string, google.protobuf.Duration> a = 1 ${required};`, [{ x: { seconds: 1n, nanos: 0 } }], [{}]],
  [`repeated google.protobuf.Struct a = 1 ${required};`, [[{}]], [[]]],
  [`bytes a = 1 ${required};`, [bytes(1)], [bytes()]],
  [`bool a = 1 ${required};`, [true], [false]],
  [`int64 a = 1 ${required};`, [1n], [0n]],
  ["string a = 1 [(buf.validate.field).string.ip = true, (buf.validate.field).required = true];", ["::1"], ["", "x"]],
  [`string a = 1 ${rules("string", "uuid: true")};`, ["123e4567-e89b-02d3-0456-426614174000"], ["123"]],
  [`string a = 1 ${rules("string", 'const: "x"')};`, ["x"], ["y"]],
  [`string a = 1 ${rules("string", 'in: ["x", "y"]')};`, ["y"], ["z"]],
  [`string a = 1 ${rules("string", 'not_in: ["x"]')};`, ["y"], ["x"]],
  [
    `string a = 1 ${rules("string", 'prefix: "a", suffix: "c", contains: "b", not_contains: "d"')};`,
    ["abc"],
    ["adbc", "ac"],
  ],
  [`string a = 1 ${rules("string", "min_len: 1, max_len: 2")};`, ["x", "xy"], ["", "xyz"]],
  [`string a = 1 ${rules("string", "len: 2")};`, ["xy"], ["x"]],
  [`string a = 1 ${rules("string", 'pattern: "^\\"x\\"$"')};`, ['"x"'], ["x"]],
  [`bool a = 1 ${rules("bool", "const: false")};`, [false], [true]],
  [`float a = 1 ${rules("float", "in: [0.1, 0.5]")};`, [Math.fround(0.1), 0.1, 0.5], [0.2]],
  [`float a = 1 ${rules("float", "const: 0.1")};`, [Math.fround(0.1)], [0.5]],
  [`float a = 1 ${rules("float", "gte: 0.1, lt: 0.3")};`, [Math.fround(0.1), 0.1], [0.09, 0.3, Math.fround(0.3)]],
  [`float a = 1 ${rules("float", "gt: 0.1, lte: 0.3")};`, [0.3, Math.fround(0.3)], [0.1, Math.fround(0.1)]],
  [`double a = 1 ${rules("double", "gt: 0.1")};`, [0.2], [0.1]],
  [`int32 a = 1 ${rules("int32", "in: [0, 1]")};`, [0, 1], [2]],
  [`uint64 a = 1 ${rules("uint64", "gt: 5, not_in: [7]")};`, [6n], [5n, 7n]],
  [`E a = 1 ${rules("enum", "const: 1")};`, [1], [0]],
  [`bytes a = 1 ${rules("bytes", "min_len: 1, max_len: 2")};`, [bytes(1)], [bytes(), bytes(1, 2, 3)]],
  [
    `repeated string a = 1 ${rules("repeated", "unique: true, max_items: 2")};`,
    [["a", "b"]],
    [
      ["a", "a"],
      ["a", "b", "c"],
    ],
  ],
  [`repeated int32 a = 1 ${rules("repeated", "items: { int32: { gt: 0 } }")};`, [[1]], [[0]]],
  [
    `map<string, int32> a = 1 ${rules("map", "min_pairs: 1, keys: { string: { len: 1 } }, values: { int32: { gt: 0 } }")};`,
    [{ x: 1 }],
    [{}, { xy: 1 }, { x: 0 }],
  ],
  [
    `map<int32, int32> a = 1 ${rules("map", "max_pairs: 1")};`,
    [new Map([[1, 1]])],
    [
      new Map([
        [1, 1],
        [2, 1],
      ]),
    ],
  ],
];

test.each(CHECKS)("%s", async (field, good, bad) => {
  const { A, warnings } = await imported(field);
  expect(warnings).toEqual([]);
  const accepted = (values: readonly unknown[]): unknown[] => values.filter((a) => A.safeParse({ a }).success);
  expect(accepted(good)).toEqual(good);
  expect(accepted(bad)).toEqual([]);
});

test.each([
  [`bytes a = 1 ${rules("bytes", 'const: "x"')};`, "bytes.const"],
  [`repeated bytes a = 1 ${rules("repeated", "unique: true")};`, "repeated.unique"],
  [`string a = 1 ${rules("string", 'pattern: "^(a+)+$"')};`, "string.pattern"],
  [`google.protobuf.Duration a = 1 ${rules("duration", "gt: { seconds: 1 }")};`, "duration.gt"],
  [`google.protobuf.Struct a = 1 ${required};`, "required"],
  [`map<int32, string> a = 1 [(buf.validate.field).ignore = IGNORE_IF_ZERO_VALUE];`, "ignore"],
  [`int32 a = 1 ${rules("int32", "gt: 5, lt: 1")};`, "int32.gt"],
  ['option (buf.validate.message).cel = { id: "x", expression: "true" };', "of the message"],
  ['option (.buf.validate.message).cel = { id: "x", expression: "true" };', "of the message"],
])("%s warns", async (field, rule) => {
  const { warnings, text } = await imported(field);
  expect(warnings[0]).toBe(`The protovalidate rule ${rule} has no check in zod.`);
  if (rule === "ignore") expect(text).toContain("a: z.map(z.int32(), z.string()),");
});

test.each([
  ["string", '"a\\"\\x41\\303\\251\\u00e9\\n"', `.default('a"Aéé\\n')`],
  ["string", `'it\\'s "x"'`, ".default('it\\'s \"x\"')"],
  ["float", "0.5", ".default(0.5)"],
  ["bool", "true", ".default(true)"],
  ["int64", "-7", ".default(-7n)"],
  ["E", "O", ".default(1)"],
])("the default of %s, %s", async (type, value, expected) => {
  const { text, warnings } = await imported(`optional ${type} a = 1 [default = ${value}];`, "proto2");
  expect(text).toContain(expected);
  expect(warnings).toEqual([]);
});

test.each([
  ["bytes", '"x"'],
  ["double", "inf"],
  ["float", "nan"],
  ["int64", "9007199254740993"],
])("the default of %s, %s, warns", async (type, value) => {
  const { text, warnings } = await imported(`optional ${type} a = 1 [default = ${value}];`, "proto2");
  expect(text).toContain(".optional()");
  expect(warnings).toEqual(["The default value is left out: zod has no literal for it."]);
});
