import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { generate } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

/** The fingerprint of a method with these options. */
async function fingerprint(options: string, before = ""): Promise<string> {
  const schema = workspace.write(
    "a.service.ts",
    `import { rpc, service, stream } from "@quicrpc/core";\nimport { z } from "zod";\n${before}\nexport const A = service("a.A", { m: rpc(${options}) });\n`,
  );
  const { files, diagnostics } = await generate({ files: [schema] });
  expect(diagnostics).toEqual([]);
  return /fingerprint: 0x([0-9a-f]{8})/.exec(files[0]?.text ?? "")?.[1] ?? expect.unreachable();
}

const input = (schema: string): string => `{ input: ${schema} }`;

describe("fingerprints are the same", () => {
  test.each([
    [
      "for fields in another order",
      "z.object({ a: z.int(), b: z.string() })",
      "z.object({ b: z.string(), a: z.int() })",
    ],
    ["with other checks", "z.object({ a: z.string() })", "z.object({ a: z.string().min(3).regex(/x/) })"],
    ["with comments", "z.object({ a: z.string() })", 'z.object({ a: z.string().describe("An a.") }).meta({ id: "X" })'],
    ["for options in another order", "z.union([z.string(), z.null()])", "z.union([z.null(), z.string()])"],
    ["for an enum and its literals", 'z.enum(["a", "b"])', 'z.literal(["b", "a"])'],
    ["for optional and default fields", "z.object({ a: z.int().optional() })", "z.object({ a: z.int().default(1) })"],
    ["for what the receiver converts", "z.string()", "z.string().transform(Number)"],
  ])("%s", async (_, a, b) => {
    expect(await fingerprint(input(a))).toBe(await fingerprint(input(b)));
  });

  test("whatever a recursive type is called, and wherever its parts have names", async () => {
    const tree = (name: string, leaf: string): string =>
      `const ${name} = z.object({ leaf: ${leaf}, get children() { return z.array(${name}); } });`;
    const plain = await fingerprint(input("Tree"), tree("Tree", "z.object({ v: z.int() })"));
    const named = `const Leaf = z.object({ v: z.int() });\n${tree("Node", "Leaf")}`;
    expect(await fingerprint(input("Node"), named)).toBe(plain);
    const other = tree("Tree", "z.object({ v: z.string() })");
    expect(await fingerprint(input("Tree"), other)).not.toBe(plain);
  });
});

describe("fingerprints differ", () => {
  test.each([
    ["for another type", "z.int()", "z.string()"],
    ["for another field", "z.object({ a: z.int() })", "z.object({ b: z.int() })"],
    ["where a field may be left out", "z.object({ a: z.int() })", "z.object({ a: z.int().optional() })"],
    ["where other fields are refused", "z.object({ a: z.int() })", "z.strictObject({ a: z.int() })"],
    ["where null is allowed", "z.int()", "z.int().nullable()"],
    ["for another literal", 'z.literal("a")', 'z.literal("b")'],
    ["in a list", "z.array(z.int())", "z.array(z.string())"],
    ["for a list and a set", "z.array(z.int())", "z.set(z.int())"],
    ["for a stream", "z.int()", "stream(z.int())"],
  ])("%s", async (_, a, b) => {
    expect(await fingerprint(input(a))).not.toBe(await fingerprint(input(b)));
  });

  test("for input and output", async () => {
    expect(await fingerprint("{ input: z.int() }")).not.toBe(await fingerprint("{ output: z.int() }"));
  });
});

/** A program that was written from docs/protocol.md. */
const byThePage = fileURLToPath(new URL("../../../interop/protocol/fingerprint.py", import.meta.url));
const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe.skipIf(!hasPython)("by python3, from the text that the page on the protocol describes", () => {
  test.each([
    [
      "scalars",
      "z.tuple([z.string(), z.number(), z.bigint(), z.boolean(), z.date(), z.null(), z.undefined(), z.any()])",
    ],
    ["bytes", "z.tuple([z.instanceof(Uint8Array), z.instanceof(Float64Array)])"],
    ["literals", 'z.tuple([z.literal(["b", "a", 1, true]), z.literal(7n), z.enum(["Ü", "z"])])'],
    ["objects", 'z.object({ b: z.int().optional(), "ü a": z.strictObject({}), l: z.looseObject({ x: z.int() }) })'],
    ["collections", "z.tuple([z.array(z.int()), z.set(z.int()), z.map(z.int(), z.string())], z.string().optional())"],
    ["records", 'z.tuple([z.record(z.string(), z.int()), z.partialRecord(z.enum(["a", "b"]), z.int())])'],
    [
      "unions",
      'z.union([z.object({ kind: z.literal("b") }), z.object({ kind: z.literal("a"), n: z.int() }), z.string()])',
    ],
    ["intersections", "z.intersection(z.object({ b: z.int() }), z.object({ a: z.int() }))"],
    ["recursive types", "Tree", "const Tree = z.object({ v: z.int(), get children() { return z.array(Tree); } });"],
    [
      "long texts",
      `z.object({ ${Array.from({ length: 60 }, (_, i) => `"a rather long name ${i}": z.string()`).join()} })`,
    ],
  ])("of %s", async (title, schema, before = "") => {
    const name = title.replace(" ", "-");
    const file = workspace.write(
      `${name}/a.service.ts`,
      `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\n${before}\nexport const A = service("a.A", { m: rpc({ input: ${schema}, output: ${schema} }) });\n`,
    );
    const { files, diagnostics } = await generate({
      files: [file],
      lock: file.replace("a.service.ts", "quicrpc.lock.json"),
    });
    expect(diagnostics).toEqual([]);
    const text = (name: string): string => files.find(({ path }) => path.endsWith(name))?.text ?? expect.unreachable();
    const snapshot = workspace.write(`${name}/quicrpc.schema.json`, text("quicrpc.schema.json"));
    const { methods } = JSON.parse(text("quicrpc.lock.json")) as { methods: Record<string, { fingerprint: string }> };
    const shown = JSON.parse(execFileSync("python3", [byThePage, snapshot], { encoding: "utf8" })) as unknown;
    expect(shown).toEqual({ "a.A/m": methods["a.A/m"]?.fingerprint });
  });
});
