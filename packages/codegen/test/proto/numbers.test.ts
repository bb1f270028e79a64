// Numbers in protobuf are kept in the lock file, and none is used twice.
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { type Diagnostic, formatLock, generate, readLock, renameLocked, writeGenerated } from "../../src/index.js";
import { createWorkspace } from "../workspace.js";
import { BUF, missingDescriptors, writeModule } from "./buf.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

let projects = 0;

/** A project of one service, whose schema changes. */
function project(): {
  readonly gen: (
    schema: string,
    more?: string,
    service?: string,
  ) => Promise<{
    readonly proto: string;
    readonly problems: readonly Diagnostic[];
    readonly stale: readonly string[];
  }>;
  readonly lock: () => string;
  readonly writeLock: (text: string) => void;
} {
  const cwd = `p${++projects}`;
  const path = `${workspace.path}/${cwd}`;
  return {
    async gen(schema, more = "", name = "test.v1.Items") {
      const file = workspace.write(
        `${cwd}/a.service.ts`,
        `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\n${more}\nexport const S = service("${name}", { put: rpc({ input: ${schema} }) });`,
      );
      const made = await generate({
        files: [file],
        lock: "quicrpc.lock.json",
        proto: "proto",
        complete: true,
        cwd: path,
      });
      writeGenerated(made.files);
      if (made.diagnostics.length > 0) expect(made.files).toEqual([]);
      if (BUF !== undefined) {
        writeModule(`${path}/proto`, made.files);
        expect(missingDescriptors(`${path}/proto`, made.files)).toEqual([]);
      }
      const proto = made.files.find((each) => each.path.endsWith(".proto"))?.text ?? "";
      return {
        proto: proto.slice(proto.indexOf("\nmessage")),
        problems: [...made.diagnostics, ...made.warnings],
        stale: made.stale,
      };
    },
    lock: () => readFileSync(`${path}/quicrpc.lock.json`, "utf8"),
    writeLock: (text) => void workspace.write(`${cwd}/quicrpc.lock.json`, text),
  };
}

const message = '"test.v1.ItemsPutRequest"';

describe("numbers", () => {
  test("stay with their fields, and those of removed fields are reserved", async () => {
    const { gen, lock } = project();
    await gen("z.object({ a: z.int(), oldName: z.int(), c: z.int() })");
    expect(lock()).toContain(`    ${message}: { "fields": { "a": 1, "oldName": 2, "c": 3 } }`);
    const { proto } = await gen("z.object({ d: z.int(), c: z.int(), a: z.int() })");
    expect(proto).toContain(`message ItemsPutRequest {
  int64 d = 4;
  int64 c = 3;
  int64 a = 1;
  reserved 2;
  reserved "old_name";
}`);
    expect(lock()).toContain(`    ${message}: { "fields": { "a": 1, "c": 3, "d": 4 }, "removed": { "2": "oldName" } }`);
    await gen("z.object({ a: z.int() })");
    const again = await gen("z.object({ a: z.int(), oldName: z.int() })");
    expect(again.proto).toContain('  int64 old_name = 5;\n  reserved 2, 3, 4;\n  reserved "c", "d";\n');
    const text = lock();
    await gen("z.object({ a: z.int(), oldName: z.int() })");
    expect(lock()).toBe(text);
  });

  test("of a method that takes nothing any more are reserved", async () => {
    const { gen, lock } = project();
    await gen("z.object({ a: z.int() })");
    const { proto } = await gen("z.undefined()");
    expect(proto).toContain('message ItemsPutRequest {\n  reserved 1;\n  reserved "a";\n}');
    expect(lock()).toContain(`    ${message}: { "fields": {}, "removed": { "1": "a" } }`);
  });

  test("of enums and unions are kept too", async () => {
    const { gen, lock } = project();
    const union = (...tags: string[]): string =>
      `z.object({ e: z.enum([${tags.map((tag) => `"${tag}"`).join()}]), u: z.discriminatedUnion("kind", [${tags.map((tag) => `z.object({ kind: z.literal("${tag}") })`).join()}]) })`;
    await gen(union("x", "y", "z"));
    const { proto } = await gen(union("w", "z", "x"));
    expect(proto).toContain('E_W = 4;\n    E_Z = 3;\n    E_X = 1;\n    reserved 2;\n    reserved "E_Y";');
    expect(proto).toContain('W w = 4;\n      Z z = 3;\n      X x = 1;\n    }\n    reserved 2;\n    reserved "y";');
    expect(lock()).toContain(
      '"test.v1.ItemsPutRequest.E": { "values": { "x": 1, "z": 3, "w": 4 }, "removed": { "2": "y" } }',
    );
  });

  test("decide which of two fields or values gets a name that both would have", async () => {
    const { gen } = project();
    const text = (fields: string, values: string): string => `z.object({ ${fields}, e: z.enum([${values}]) })`;
    await gen(text("fooBar: z.int(), foo_bar: z.int()", '"a-b", "a_b"'));
    const { proto } = await gen(text("foo_bar: z.int(), fooBar: z.int()", '"a_b", "a-b"'));
    expect(proto).toContain('foo_bar_2 = 2 [json_name = "foo_bar"];\n  int64 foo_bar = 1;');
    expect(proto).toContain("E_A_B_2 = 2;\n    E_A_B = 1;");
    const { proto: later } = await gen(text("foo_bar: z.int()", '"a_b"'));
    expect(later).toContain('foo_bar_2 = 2 [json_name = "foo_bar"];');
    expect(later).toContain('reserved 1;\n  reserved "foo_bar";');
  });

  test("of a package without services stay, and its file goes", async () => {
    const { gen, lock } = project();
    const first = await gen("z.object({ a: z.int() })");
    expect(first.stale).toEqual([]);
    const { stale } = await gen("z.object({ a: z.int() })", "", "other.v1.Items");
    expect(stale.map((path) => path.slice(path.lastIndexOf("/proto/")))).toEqual(["/proto/test/v1/test.proto"]);
    expect(lock()).toContain(message);
  });

  test("are not lost by a method that has no form any more", async () => {
    const { gen, lock } = project();
    const gone = "z.object({ a: z.int(), b: z.custom<string>().optional() })";
    expect((await gen(gone)).problems).toMatchObject([
      { code: "no-proto", message: expect.stringContaining("is left out") },
    ]);
    await gen("z.object({ a: z.int() })");
    const before = lock();
    expect((await gen(gone)).problems).toMatchObject([
      { code: "no-proto", path: "input.b", message: expect.stringContaining("would disappear from the .proto file") },
    ]);
    expect(lock()).toBe(before);
  });

  test("of protobuf's own are not used", async () => {
    const { gen, writeLock, lock } = project();
    await gen("z.object({ a: z.int() })");
    writeLock(lock().replace('"a": 1', '"a": 18999'));
    expect((await gen("z.object({ a: z.int(), b: z.int() })")).proto).toContain("int64 b = 20000;");
  });

  test("are added to a lock file without any, and stay in one if no .proto file is written", async () => {
    const { gen, lock, writeLock } = project();
    await gen("z.object({ a: z.int() })");
    const old = lock()
      .replace('"version": 2', '"version": 1')
      .replace(/,\n {2}"messages": \{.*?\n {2}\}/s, "");
    writeLock(old);
    await gen("z.object({ a: z.int() })");
    expect(lock()).toContain('"version": 2');
    const file = workspace.write(
      "plain/a.service.ts",
      'import { rpc, service } from "@quicrpc/core";\nexport const S = service("test.v1.Items", { put: rpc() });',
    );
    workspace.write("plain/quicrpc.lock.json", lock());
    const { files } = await generate({
      files: [file],
      lock: "quicrpc.lock.json",
      complete: true,
      cwd: `${workspace.path}/plain`,
    });
    const plain = files.find(({ path }) => path.endsWith("quicrpc.lock.json"))?.text ?? "";
    expect(plain).toContain(`${message}: { "fields": { "a": 1 } }`);
    // Projects without .proto files keep a lock file that older versions read.
    expect(formatLock({ methods: new Map(), messages: new Map() })).toContain('"version": 1');
  });

  test("of a renamed schema that were lost are pointed out", async () => {
    const { gen, lock, writeLock } = project();
    const input = (name: string): [string, string] => [
      `z.object({ all: z.array(${name}) })`,
      `export const ${name} = z.object({ b: z.int(), a: z.int() });`,
    ];
    await gen(...input("Old"));
    await gen("z.object({ all: z.array(Old) })", "export const Old = z.object({ a: z.int(), b: z.int() });");
    const kept = lock();
    const { problems } = await gen(...input("New"));
    expect(problems).toMatchObject([
      { code: "proto-renamed", message: expect.stringContaining("test.v1.New has the fields of test.v1.Old") },
    ]);
    const read = readLock(kept, "lock", () => expect.unreachable());
    writeLock(formatLock(renameLocked(read ?? expect.unreachable(), "test.v1.Old", "test.v1.New")));
    expect(
      (await gen("z.object({ all: z.array(New) })", "export const New = z.object({ a: z.int(), b: z.int() });")).proto,
    ).toContain("message New {\n  int64 a = 2;\n  int64 b = 1;\n}");
  });
});

describe("the lock file", () => {
  const head =
    '{\n  "version": 2,\n  "methods": {\n    "a.A/x": { "id": [1, 2], "fingerprint": "00000000" }\n  },\n  "messages": {\n';
  const file = (...lines: readonly string[]): string =>
    `${head}${lines.map((line) => `    ${line}`).join(",\n")}\n  }\n}\n`;
  const problems = (text: string): string[] => {
    const found: string[] = [];
    readLock(text, "/quicrpc.lock.json", ({ line, code, message }) => void found.push(`${line} ${code} ${message}`));
    return found;
  };
  const row = '"a.Row": { "fields": { "id": 1, "a/\\"{b}": 2 }, "removed": { "3": "old" } }';

  test("reads what it writes, and what a merge has made of it", () => {
    for (const text of [
      file(row),
      file(row, row),
      file(row, '"a.Row": { "fields": { "id": 1, "old": 3 } }'),
      file(`${row}\n    ${row}`),
    ]) {
      expect(problems(text)).toEqual([]);
    }
    const read = readLock(file(row, '"a.E": { "values": { "x": 1 } }'), "lock", () => expect.unreachable());
    expect(read && formatLock(read)).toBe(file('"a.E": { "values": { "x": 1 } }', row));
  });

  test.each([
    [
      "a number of two fields",
      [row, '"a.Row": { "fields": { "id": 1, "c": 2 } }'],
      '8 lock-clash In a.Row (and line 7), a/"{b} and c both have number 2, as when two branches each added one.',
    ],
    [
      "a number of a removed field",
      ['"a.Row": { "fields": { "id": 3 }, "removed": { "3": "old" } }'],
      "7 lock-clash In a.Row, old and id both have number 3, as when two branches each added one.",
    ],
    [
      "two numbers of a field",
      [row, '"a.Row": { "fields": { "id": 7 } }'],
      "8 lock-clash In a.Row (and line 7), id has the numbers 1 and 7, as when two branches each added one.",
    ],
    [
      "two numbers in one line",
      ['"a.Row": { "fields": { "id": 1, "id": 2 } }'],
      "7 lock-clash In a.Row, id has the numbers 1 and 2, as when two branches each added one.",
    ],
    [
      "a text as a number",
      ['"a.Row": { "fields": { "id": "1" } }'],
      "7 lock-invalid The entry of a.Row cannot be read.",
    ],
    ...["1.5", "0", "-1", "19500", "536870912"].map(
      (number) =>
        [
          `the number ${number}`,
          [`"a.Row": { "fields": { "id": ${number} } }`],
          "7 lock-invalid The entry of a.Row cannot be read.",
        ] as [string, string[], string],
    ),
    ...["0", "x"].map(
      (number) =>
        [
          `a removed number ${number}`,
          [`"a.Row": { "fields": {}, "removed": { "${number}": "y" } }`],
          "7 lock-invalid The entry of a.Row cannot be read.",
        ] as [string, string[], string],
    ),
    [
      "an entry that is none",
      ['"a.Row": { "fields": { "id": } }'],
      "7 lock-invalid The entry of a.Row cannot be read.",
    ],
    ["another entry", ['"a.Row": { "others": { "id": 1 } }'], "7 lock-invalid This is not a line of a lock file."],
  ])("with %s is refused", (_, lines, problem) => {
    expect(problems(file(...lines))).toEqual([problem]);
  });

  test("keeps the numbers of what is renamed", () => {
    const types = ["ItemsPutRequest", "ItemsPutRequest.Inner", "ItemsPutResponse", "Row"];
    const fields = { kind: "fields" as const, numbers: new Map([["id", 4]]), removed: new Map<number, string>() };
    const messages = new Map(types.map((name) => [`a.${name}`, fields]));
    const method = { serviceId: 1, methodId: 1, fingerprint: "00000000", removed: false };
    const lock = { methods: new Map([["a.Items/put", method]]), messages };
    const names = (from: string, to: string): string[] =>
      [...renameLocked(lock, from, to).messages.keys()].map((name) => name.slice(2));
    expect(names("a.Items/put", "a.Items/set")).toEqual([
      "ItemsSetRequest",
      "ItemsSetRequest.Inner",
      "ItemsSetResponse",
      "Row",
    ]);
    expect(names("a.Items", "a.Things")).toEqual([
      "ThingsPutRequest",
      "ThingsPutRequest.Inner",
      "ThingsPutResponse",
      "Row",
    ]);
    // A service that leaves its package takes the numbers of types that others may use, too.
    expect(names("a.Items", "b.Items")).toEqual([
      "Row",
      "ItemsPutRequest",
      "ItemsPutRequest.Inner",
      "ItemsPutResponse",
      "Row",
    ]);
    expect(names("a.Row", "a.Line")).toEqual([...types.slice(0, 3), "Line"]);
    expect(renameLocked(lock, "a.Row.id", "a.Row.key").messages.get("a.Row")?.numbers).toEqual(new Map([["key", 4]]));
    const nested = ["inner", "items", "other"].map((key, index): [string, number] => [key, index]);
    const parts = ["", ".Inner", ".InnerOrNull", ".Item", ".ItemsList", ".Other"];
    const row = new Map(parts.map((part) => [`a.Row${part}`, { ...fields, numbers: new Map(nested) }]));
    const paths = (from: string, to: string): string[] =>
      [...renameLocked({ ...lock, messages: row }, from, to).messages.keys()].map((name) => name.slice(5));
    expect(paths("a.Row.inner", "a.Row.innerPart")).toEqual(["", ".InnerPart", ".InnerPartOrNull", ...parts.slice(3)]);
    expect(paths("a.Row.items", "a.Row.lines")).toEqual([...parts.slice(0, 3), ".Line", ".LinesList", ".Other"]);
    for (const [from, to, problem] of [
      ["a.Row", "a.ItemsPutRequest", "already"],
      ["a.Row.id", "a.Line.id", "cannot move"],
      ["a.Row.x", "a.Row.y", "not in the lock"],
    ] as const) {
      expect(() => renameLocked(lock, from, to)).toThrow(problem);
    }
  });
});
