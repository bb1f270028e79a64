// Field numbers in metadata: each field has one of its own, and new fields do not get numbers in use.
import { existsSync, readFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { generate, writeGenerated } from "../../src/index.js";
import { createWorkspace } from "../workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

let count = 0;

/** Generates one version of a schema after the other; gives the problems of the last one, and the lock file. */
async function versions(...schemas: string[]): Promise<{ readonly problems: string[]; readonly lock: string }> {
  const folder = `p${count++}`;
  const cwd = `${workspace.path}/${folder}`;
  let problems: string[] = [];
  for (const schema of schemas) {
    const file = workspace.write(
      `${folder}/a.service.ts`,
      `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\nexport const S = service("t.S", { put: rpc({ input: ${schema} }) });`,
    );
    const made = await generate({ files: [file], lock: "quicrpc.lock.json", proto: "proto", complete: true, cwd });
    writeGenerated(made.files);
    problems = [
      ...made.diagnostics.map(({ message }) => `error: ${message}`),
      ...made.warnings.map(({ message }) => message),
    ];
  }
  const lock = `${cwd}/quicrpc.lock.json`;
  return { problems, lock: existsSync(lock) ? readFileSync(lock, "utf8") : "" };
}

const object = (fields: string, meta: string): string => {
  const text = fields.split(" ").map((key) => `${key}: z.int32()`);
  return `z.object({ ${text.join(", ")} }).meta({ ${meta} })`;
};

test("a number in the metadata that the lock file has for another field is an error", async () => {
  const first = object("a b c", "proto: { a: 1, b: 2 }");
  const { problems } = await versions(first, object("a b c d", "proto: { a: 1, b: 2, d: 3 }"));
  expect(problems).toEqual(["error: c and d have the same number, 3."]);
  const mended = await versions(first, object("a b c d", "proto: { a: 1, b: 2, c: 4, d: 3 }"));
  expect(mended.problems).toEqual([]);
});

test("a method with a name in the metadata stays in the .proto file", async () => {
  const rest = 'meta: { proto: "put_all" }';
  const { problems } = await versions(
    `z.object({ a: z.int() }), ${rest}`,
    `z.object({ a: z.int().meta({ proto: "sint64" }) }), ${rest}`,
  );
  expect(problems).toEqual([
    "error: Protobuf has no form for a int64 encoded as sint64: this method would disappear from the .proto file.",
  ]);
});

test("an option of a oneof does not share the key of a field", async () => {
  const { problems } = await versions(
    'z.object({ id: z.int32(), r: z.discriminatedUnion("case", [z.object({ case: z.literal("id"), value: z.int32() }), z.object({ case: z.literal("x"), value: z.int32() })]) }).meta({ proto: { id: 1, r: { id: 2, x: 3 } } })',
  );
  expect(problems).toEqual(["error: id is the key of two fields, or of a field and an option."]);
});

test.each([
  ["proto: { a: 1, bb: 5 }", "Protobuf has no form for a number of bb, which is not a field"],
  ["proto: { a: 19000 }", "Protobuf has no form for field number 19000"],
  ["proto: { a: 536870912 }", "Protobuf has no form for field number 536870912"],
  ["proto: { a: 1 }, protoReserved: 2", "Protobuf has no form for these reserved numbers"],
])("%s is refused", async (meta, message) => {
  const { problems } = await versions(object("a b", meta));
  expect(problems).toEqual([`${message}: this method is left out of the .proto file.`]);
});

test("new fields get numbers that are valid and not reserved", async () => {
  const reserved = await versions(object("a b c", "proto: { a: 1 }, protoReserved: [[3, 9], 2, 11]"));
  expect(reserved.lock).toContain('"a": 1, "b": 10, "c": 12');
  const full = await versions(object("a b", "proto: { a: 1 }, protoReserved: [[2, 536870911]]"));
  expect(full.problems).toEqual(["error: There is no number left for b."]);
});
