// Which files are read and written, and which modules count as edited.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writeGenerated } from "../../src/index.js";
import { importProtos, type ImportOptions, type ImportResult } from "../../src/import/index.js";
import { isEdited, isSameModule, withHeader } from "../../src/import/written.js";
import { createWorkspace } from "../workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

let count = 0;

/** Writes proto3 files to a new folder; gives its path. */
function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = `case${count++}`;
  mkdirSync(join(workspace.path, folder), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    workspace.write(`${folder}/${name}`, /^syntax/m.test(text) ? text : `syntax = "proto3";\n${text}`);
  }
  return join(workspace.path, folder);
}

function problems(files: Readonly<Record<string, string>>, options: Partial<ImportOptions> = {}): string[] {
  const result = importProtos({ files: ["a.proto"], cwd: folderOf(files), ...options });
  if (result.diagnostics.length > 0) expect(result.files).toEqual([]);
  return result.diagnostics.map(({ code, file, line, message }) => {
    expect(file).toBeDefined();
    return `${code} ${line ?? "-"} ${message.replaceAll(/[^ "]*case\d+\//g, "")}`;
  });
}

test("a module depends only on its .proto file", () => {
  const cwd = folderOf({
    "common.proto": "message M1 {}\nmessage M2 {}\nservice S { rpc Get(M1) returns (M1); }",
    "a.proto": 'import "common.proto";\nmessage A { M1 m = 1; }',
    "b.proto": 'import "common.proto";\nmessage B { M2 m = 1; }',
  });
  const run = (file: string): ImportResult => importProtos({ files: [file], out: "src", cwd });
  const first = run("a.proto");
  writeGenerated(first.files);
  const common = (result: ImportResult): unknown => result.files.find(({ path }) => path.endsWith("common.service.ts"));
  expect(common(run("b.proto"))).toEqual({ ...(common(first) as object), changed: false });
  expect(common(run("common.proto"))).toEqual({ ...(common(first) as object), changed: false });
});

test("one name means one file", () => {
  const files = { "a/x.proto": "message A {}", "b/x.proto": "message B {}" };
  const [problem] = problems(files, { files: ["a/x.proto", "b/x.proto"] });
  expect(problem).toBe('file-not-found - a/x.proto is found as "x.proto" before this file.');
  expect(problems(files, { files: ["b/x.proto"], folders: ["a", "b"] })).toEqual([problem]);
  expect(problems(files, { files: ["b/x.proto", "a/x.proto"], folders: ["."] })).toEqual([]);
});

test.each(["../../evil.proto", "/evil.proto", "./b.proto", "b//c.proto", "b\\\\c.proto", "b\\nc.proto", "b.txt"])(
  "the import %j is refused",
  (name) => {
    const all = problems({ "a.proto": `import "${name}";\nmessage A {}`, "b.proto": "", "b.txt": "" });
    const shown = JSON.stringify(JSON.parse(`"${name}"`));
    const line = name.includes("\\") ? "-" : "2";
    expect(all).toEqual([
      `proto-syntax ${line} The import ${shown} is not a path of a .proto file below one of the folders of -I.`,
    ]);
  },
);

test("two files do not become one module, and no source is replaced", () => {
  const files = { "a.proto": "message M {}\nservice S { rpc Get(M) returns (M); }", "a.service.proto": "message N {}" };
  expect(problems(files, { files: ["a.proto", "a.service.proto"], out: "out" })).toEqual([
    "output-clash - a.proto and a.service.proto would be written to the same module, out/a.service.ts.",
  ]);
  expect(problems({ "c.txt": "message C {}" }, { files: ["c.txt"], force: true })).toEqual([
    "file-not-found - The name of the file does not end in .proto.",
  ]);
  expect(problems({ "p/a.proto": "" }, { files: ["p"] })).toEqual([
    "file-not-found - The file does not exist, or is not a file.",
  ]);
  expect(problems({ "a.proto": 'import "b.proto";', "b.proto/x.proto": "" })).toEqual([]);
});

test.each([
  ["message A {\n  string a = 1;\n  string b = 1;\n}", "3:Two fields of A have the number 1."],
  ["message A {\n  string a = 1;\n  string a = 2;\n}", "4:a is declared twice."],
  ["message A {}\n// message B {}\nmessage A {}", "4:A is declared twice."],
  ["message A {\n  string a = 0;\n}", "3:a has the invalid number 0."],
  ["message A {\n  string a = 19000;\n}", "3:a has the invalid number 19000."],
  ['syntax = "proto4";', "1:The syntax is unknown."],
  ['option (x).syntax = "proto3";\nsyntax = "proto4";', "2:The syntax is unknown."],
  [
    'syntax = "proto2";\nmessage A {\n  oneof x {\n    group G = 1 {}\n  }\n}',
    "4:A group in a oneof is not supported.",
  ],
  ["message A {\n  int32 a = 1 [(buf.validate.field).int32.in = 0];\n}", "3:A rule with one zero value may get lost."],
  ["message A {\n  strin g name = 1;\n}", "3:The file is not valid protobuf: illegal token 'name', '=' expected."],
])("%j names the line", (text, expected) => {
  const { diagnostics } = importProtos({ files: ["a.proto"], cwd: folderOf({ "a.proto": text }) });
  const [found] = diagnostics.map(({ line, message }) => `${line}:${message}`);
  if (expected.startsWith("3:The file")) expect(found).toMatch(/^3:The file is not valid protobuf: /);
  else expect(found).toBe(expected.replace("3:Two", "4:Two"));
});

const MODULE = `export const A = z.object({
  /** Some text. */
  a: z.array(z.string()).min(1).refine((value) => value === "it's, \\"x\\""),
  "b": z.string().regex(new RegExp("^[a-z]*$", "u")),
});
`;

test("formatting is not an edit", () => {
  const written = withHeader("a.proto", MODULE);
  const formatted = written
    .replace('"it\'s, \\"x\\""', `'it\\'s, "x"'`)
    .replace('"b"', "b")
    .replace("(value) =>", "value =>")
    .replace('"u"))', '"u",\n))')
    .replace("});", "})")
    .replace("/** Some text. */", "/**\n   * Some\n   * text.\n   */");
  expect(formatted).not.toBe(written);
  expect(isEdited(formatted)).toBe(false);
  expect(isEdited(`\ufeff${written.replaceAll("\n", "\r\n")}`)).toBe(false);
  expect(isEdited(MODULE)).toBe(true);
});

test.each([
  ["z.array(z.string()).min(1)", "z.array(z.string().min(1))"],
  ["[a-z]*", "[a-z]"],
  ["it's, ", "it's"],
  ["Some text", "Other text"],
  ["value === ", "value == "],
])("a change of %s to %s is an edit", (from, to) => {
  expect(MODULE).toContain(from);
  const changed = MODULE.replace(from, to);
  expect(isSameModule(MODULE, changed)).toBe(false);
  expect(isEdited(withHeader("a.proto", MODULE).replace(from, to))).toBe(true);
});

test("the name of a file in the header stays in its comment", () => {
  expect(withHeader("a\nevil();.proto", "").split("\n")).toHaveLength(3);
});
