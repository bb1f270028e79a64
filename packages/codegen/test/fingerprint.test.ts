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
