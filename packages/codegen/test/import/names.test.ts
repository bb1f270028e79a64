// References and names in .proto files: which type a name means, and which names modules declare.
import { afterAll, expect, test } from "vitest";
import { generate, writeGenerated } from "../../src/index.js";
import { importProtos, type ImportResult } from "../../src/import/index.js";
import { createWorkspace } from "../workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

let count = 0;

/** Imports the first of `files`, whose names are relative to one folder. */
function imported(files: Readonly<Record<string, string>>, all = false): ImportResult & { readonly cwd: string } {
  const folder = `case${count++}`;
  const paths = Object.entries(files).map(([name, text]) =>
    workspace.write(`${folder}/${name}`, `syntax = "proto3";\n${text}`),
  );
  const cwd = `${workspace.path}/${folder}`;
  const result = importProtos({
    files: all ? paths : paths.slice(0, 1),
    folders: ["."],
    importExtension: "ts",
    cwd,
  });
  return { ...result, cwd };
}

const textOf = (result: ImportResult): string => result.files.map(({ text }) => text).join("\n");

/** Imports files and generates protobuf for them; gives the text of the .proto files. */
async function generated(files: Readonly<Record<string, string>>): Promise<string> {
  const { files: modules, diagnostics, cwd } = imported(files, true);
  expect(diagnostics).toEqual([]);
  writeGenerated(modules);
  const services = modules.map(({ path }) => path).filter((path) => path.endsWith(".service.ts"));
  const result = await generate({ files: services, proto: "proto", importExtension: "ts", cwd });
  expect(result.diagnostics).toEqual([]);
  expect(result.warnings).toEqual([]);
  return result.files
    .filter(({ path }) => path.endsWith(".proto"))
    .map(({ text }) => text)
    .join("\n");
}

test("a name means the type in the innermost scope that declares its first part", () => {
  const nested = imported({
    "a.proto":
      "package p;\nmessage Status { int32 code = 1; }\nmessage A { message B { message Status { string x = 1; } Status st = 1; } Status s = 1; B b = 2; }",
  });
  expect(textOf(nested)).toContain("s: Status.optional(),");
  expect(textOf(nested)).toContain("st: ABStatus.optional(),");
  const inner = imported({
    "a.proto": "message Status { int32 code = 1; }\nmessage A { message Status { string x = 1; } Status s = 1; }",
  });
  expect(textOf(inner)).toContain("s: AStatus.optional(),");
  const qualified = imported({
    "a.proto": 'package a.b;\nimport "b.proto";\nimport "c.proto";\nmessage A { b.Y y = 1; }',
    "b.proto": "package b;\nmessage Y { int32 outer = 1; }",
    "c.proto": "package a.b.b;\nmessage Y { int32 inner = 1; }",
  });
  expect(qualified.files.map(({ path }) => path.slice(qualified.cwd.length))).toEqual(["/a.ts", "/c.ts"]);
  const invisible = imported({
    "a.proto": 'package a.b;\nimport "b.proto";\nmessage A { M m = 1; }',
    "b.proto": 'package a;\nimport "c.proto";\nmessage M { b.M m = 1; }',
    "c.proto": "package a.b;\nmessage M { int32 inner = 1; }",
  });
  expect(invisible.files[0]?.text).toContain('import { M } from "./b.ts";');
  const open = imported({
    "a.proto": 'import "b.proto";\nmessage A { M m = 1; }',
    "b.proto": 'import public "c.proto";',
    "c.proto": "message M { int32 inner = 1; }",
  });
  expect(open.files[0]?.text).toContain('import { M } from "./c.ts";');
});

test("a nested type does not replace a type that is missing", () => {
  const { diagnostics } = imported({
    "a.proto": 'import "none.proto";\nmessage A {\n  Status s = 1;\n  B b = 2;\n}\nmessage B { message Status {} }',
  });
  expect(diagnostics).toMatchObject([{ code: "proto-type", line: 4, message: "The type Status was not found." }]);
  const other = imported({ "a.proto": "enum E { ZERO = 0; }\nservice S {\n  rpc Get(E) returns (E);\n}" });
  expect(other.diagnostics).toMatchObject([{ code: "proto-type", line: 4, message: "The type E was not found." }]);
});

test("constants, keys and methods are distinct", async () => {
  const text = textOf(
    imported({
      "a.proto":
        "message KindSchema { int32 a = 1; }\nenum Kind { Z = 0; }\nmessage A { Kind k = 1; KindSchema s = 2; }",
    }),
  );
  expect(text.match(/export const \w+/g)).toEqual([
    "export const Kind2",
    "export const Kind2Schema",
    "export const KindSchema",
    "export const A",
  ]);
  const twice = imported({
    "a.proto":
      "message A {\n  string foo_bar = 1;\n  string fooBar = 2;\n  string fooBar2 = 3;\n  oneof foo__bar { string a = 4; }\n}",
  });
  expect(textOf(twice)).toContain("{ proto: { fooBar: 1, fooBar3: 2, fooBar2: 3, fooBar4: { a: 4 } } }");
  expect(twice.warnings).toMatchObject([
    { line: 4, message: "Two fields of A have the JSON name fooBar: this one becomes fooBar3." },
  ]);
  const proto = await generated({
    "a.proto": "package p;\nmessage M {}\nservice S { rpc Get(M) returns (M); rpc get(M) returns (M); }",
  });
  expect(proto).toContain("rpc Get(SGetRequest)");
  expect(proto).toContain("rpc get(SgetRequest)");
});

test("a service without methods is left out", () => {
  const { warnings, files } = imported({
    "a.proto":
      'package p;\nimport "google/protobuf/timestamp.proto";\nservice E {}\nservice T { rpc Get(google.protobuf.Timestamp) returns (google.protobuf.Timestamp); }',
  });
  expect(warnings.map(({ message }) => message)).toContain("The service E is left out: it has no methods.");
  expect(files[0]?.text).not.toContain("service(");
});

test("a group among the fields of a oneof is left out", () => {
  const folder = `case${count++}`;
  const file = workspace.write(
    `${folder}/a.proto`,
    'edition = "2023";\noption features.message_encoding = DELIMITED;\nmessage B { int32 v = 1; }\nmessage A { oneof x { B b = 1; string s = 2; } oneof y { B c = 3; } }',
  );
  const { files, warnings } = importProtos({ files: [file], cwd: `${workspace.path}/${folder}` });
  expect(files[0]?.text).toContain("{ proto: { x: { s: 2 } } }");
  expect(files[0]?.text).not.toContain('"b"');
  expect(warnings).toHaveLength(2);
});

test("types whose names clash in the .proto file of the generator get others", async () => {
  const enums = await generated({
    "a.proto": `package p;
import "q.proto";
message Order { enum Status { UNKNOWN = 0; OPEN = 1; } Status s = 1; }
message Item { enum Status { UNKNOWN = 0; SOLD = 1; } Status s = 1; }
message View { enum Status { UNKNOWN = 0; SEEN = 1; } Order.Status o = 1; Item.Status i = 2; Status v = 3; Kind k = 4; q.Color c = 5; q.Kind q = 6; }
enum Kind { UNKNOWN = 0; }
service S { rpc Do(View) returns (View); }`,
    "q.proto": "package q;\nenum Color { UNKNOWN = 0; RED = 1; }\nenum Kind { UNKNOWN = 0; ANY = 1; }",
  });
  expect(enums.match(/enum \w+/g)).toEqual(
    ["Status", "Status2", "Status3", "Kind", "Color", "Kind2", "Status", "Status2", "Status3"].map(
      (name) => `enum ${name}`,
    ),
  );
  expect(enums).toContain("STATUS2_UNKNOWN = 0;");
  const messages = await generated({
    "a.proto": 'package p;\nimport "q.proto";\nmessage A { q.Status s = 1; }\nservice S { rpc Do(A) returns (A); }',
    "b.proto":
      "package p;\nmessage Status { int32 a = 1; }\nmessage B { Status s = 1; }\nservice T { rpc Do(B) returns (B); }",
    "q.proto": "package q;\nmessage Status { int32 a = 1; }",
  });
  expect(messages).toContain("Status2 s = 1;");
  const payloads = await generated({
    "a.proto":
      "package p;\nmessage SDoRequest { SDoRequest n = 1; }\nmessage B { SDoRequest s = 1; }\nservice S { rpc A(B) returns (B); rpc Do(SDoRequest) returns (SDoRequest); }",
  });
  expect(payloads).toContain("message SDoRequest {\n  SDoRequest2 n = 1;");
});

test("reserved numbers are kept", () => {
  const { files } = imported({
    "a.proto": 'message A { reserved 2, 5 to 9, 100 to max; reserved "old"; string a = 1; }',
  });
  expect(files[0]?.text).toContain("{ proto: { a: 1 }, protoReserved: [2, [5, 9], [100, 536870911]] }");
});
