// How declarations of .proto files become schemas.
import { afterAll, expect, test } from "vitest";
import { importProtos } from "../../src/import/index.js";
import { createWorkspace } from "../workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

let count = 0;

/** Imports a file; gives the text after its imports, and its warnings as `line: text`. */
function imported(text: string): { readonly text: string; readonly warnings: string[] } {
  const folder = `case${count++}`;
  const file = workspace.write(`${folder}/a.proto`, text);
  const { files, diagnostics, warnings } = importProtos({ files: [file], out: folder, cwd: workspace.path });
  expect(diagnostics).toEqual([]);
  const module = files[0]?.text ?? "";
  return {
    text: module.slice(module.indexOf('from "zod";\n') + 13).trim(),
    warnings: warnings.map(({ line, message }) => `${line}: ${message}`),
  };
}

/** Imports a proto3 message with these fields; gives its properties. */
function fields(text: string, head = 'syntax = "proto3";'): string[] {
  const lines = imported(`${head}\nmessage A {\n${text}\n}`).text.split("\n");
  return lines.filter((line) => line.startsWith("  ")).map((line) => line.trim().replace(/,$/, ""));
}

test.each([
  ["string name = 1;", "name: z.string()"],
  ["optional int32 page_size = 2;", "pageSize: z.int32().optional()"],
  ["repeated sint64 deltas = 3;", 'deltas: z.array(z.bigint().meta({ proto: "sint64" }))'],
  ["map<string, bytes> parts = 4;", "parts: z.record(z.string(), z.instanceof(Uint8Array))"],
  ["map<bool, double> m = 4;", "m: z.map(z.boolean(), z.number())"],
  ["string a = 1 [deprecated = true];", "a: z.string().meta({ deprecated: true })"],
  ['string a = 1 [json_name = "@a"];', '"@a": z.string()'],
  ["string a = 1 [(buf.validate.field).string = {min_len: 1, max_len: 9}];", "a: z.string().min(1).max(9)"],
  ["string a = 1 [(buf.validate.field).string.email = true];", "a: z.email()"],
  [
    'string a = 1 [(buf.validate.field).string.pattern = "^\\\\d+$"];',
    'a: z.string().regex(new RegExp("^\\\\d+$", "u"))',
  ],
  ["int64 a = 1 [(buf.validate.field).int64.gte = 0];", "a: z.bigint().gte(0n)"],
  [
    "fixed32 a = 1 [(buf.validate.field).fixed32 = {in: [1, 2]}];",
    'a: z.uint32().refine((value) => [1, 2].includes(value)).meta({ proto: "fixed32" })',
  ],
  [
    "repeated string a = 1 [(buf.validate.field).repeated = {min_items: 1, items: {string: {min_len: 2}}}];",
    "a: z.array(z.string().min(2)).min(1)",
  ],
  ["string a = 1 [(buf.validate.field).required = true];", "a: z.string().min(1)"],
  ["optional string a = 1 [(buf.validate.field).required = true];", "a: z.string()"],
  ["A a = 1 [(buf.validate.field).required = true];", "get a(): typeof A {"],
])("%s", (text, expected) => {
  expect(fields(text)[0]).toBe(expected);
});

test("proto2 and editions", () => {
  const proto2 = imported(
    'syntax = "proto2";\nmessage A {\n  required int32 a = 1;\n  optional int32 b = 2 [default = 7];\n  repeated int32 c = 3;\n  optional group D = 4 { optional int32 e = 5; }\n  extensions 100 to 200;\n}\nextend A { optional int32 f = 100; }\n',
  );
  expect(proto2.text).toBe(
    'export const A = z.object({\n  a: z.int32(),\n  b: z.int32().default(7),\n  c: z.array(z.int32()),\n}).meta({ proto: { a: [1, "required"], b: 2, c: [3, "unpacked"] } });',
  );
  expect(proto2.warnings).toEqual([
    "6: The group d is left out: it has no form in zod schemas.",
    "9: An extension is left out.",
  ]);
  const hostile = fields(
    'optional bool a = 1 [default = "evil()"];\noptional int64 b = 2 [default = "evil()"];\nrepeated int64 c = 3 [(buf.validate.field).int64.gt = "evil()", (buf.validate.field).repeated.min_items = "evil()", (buf.validate.field).repeated.items.int64.lt = "evil()"];',
    'syntax = "proto2";',
  );
  expect(hostile.join("\n")).not.toContain("evil");
  const edition = 'edition = "2023";';
  const delimited = `${edition}\noption features.message_encoding = DELIMITED;`;
  expect(fields("map<string, A> a = 1;", delimited)[0]).toBe("get a(): z.ZodRecord<z.ZodString, typeof A> {");
  expect(fields("int32 a = 1;\nint32 b = 2 [features.field_presence = IMPLICIT];", edition)).toEqual([
    "a: z.int32().optional()",
    "b: z.int32()",
  ]);
});

test("services", () => {
  const { text, warnings } = imported(`syntax = "proto3";
package a.v1;
import "google/protobuf/empty.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/wrappers.proto";
message M {}
service S {
  rpc Get(google.protobuf.Empty) returns (google.protobuf.StringValue) { option idempotency_level = IDEMPOTENT; }
  rpc get_all(M) returns (stream M);
  rpc Then(stream M) returns (google.protobuf.Empty);
  rpc Any(google.protobuf.Value) returns (M);
}`);
  expect(text.slice(text.indexOf("export const S"))).toBe(`export const S = service("a.v1.S", {
  get: rpc({ output: z.string(), idempotent: true }),
  get_all: rpc({ input: M, output: stream(M), meta: { proto: "get_all" } }),
  thenMethod: rpc({ input: stream(M), meta: { proto: "Then" } }),
});`);
  expect(warnings).toEqual(["11: The method is left out: its input is google.protobuf.Value."]);
});

test("names that are taken, and rules without a check", () => {
  const { text, warnings } = imported(`syntax = "proto3";
message z { string end_ = 1; }
message Outer {
  message Inner { Kind kind = 1; }
  enum Kind { ZERO = 0; }
  Inner inner = 1 [(buf.validate.field).cel = { id: "x", expression: "true" }];
}
message OuterInner {}
`);
  expect(text.match(/export const \w+/g)).toEqual([
    "export const OuterKind",
    "export const OuterKindSchema",
    "export const z2",
    "export const OuterInner",
    "export const Outer",
    "export const OuterInner2",
  ]);
  expect(warnings).toEqual(["6: The protovalidate rule cel has no check in zod."]);
});
