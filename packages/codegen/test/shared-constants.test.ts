// A constant that is used several times is written once in generated code and documents.
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { generate } from "../src/index.js";
import { JsonSchemas } from "../src/tooling/json-schema.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

/** Bytes of the generated files whose names end in `ending`, for a chain of constants of which each uses the one before twice. */
async function sizeOf(
  levels: number,
  link: (before: string, level: number) => string,
  ending: string,
): Promise<number> {
  const chain = Array.from({ length: levels }, (_, i) => `const L${i + 1} = ${link(`L${i}`, i + 1)};\n`);
  const path = workspace.write(
    "chain.service.ts",
    `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\nconst L0 = z.object({ leaf: z.string() });\n${chain.join("")}` +
      `export const S = service("test.v1.S", { m: rpc({ input: L${levels} }) });`,
  );
  const { files, diagnostics } = await generate({ files: [path] });
  expect(diagnostics).toEqual([]);
  return files.filter((file) => file.path.endsWith(ending)).reduce((sum, { text }) => sum + text.length, 0);
}

const unions = (before: string, level: number): string =>
  `z.union([z.object({ k: z.literal(${level}), v: ${before} }), z.object({ v: ${before}.optional() })])`;

test("four levels more make codecs of unions less than three times as long", async () => {
  expect(await sizeOf(6, unions, ".codecs.ts")).toBeLessThan(3 * (await sizeOf(2, unions, ".codecs.ts")));
});

test("four levels more make the JSON Schema of objects less than three times as long", () => {
  const lengthOf = (levels: number): number => {
    let schema: z.ZodType = z.object({ leaf: z.string() });
    for (let i = 0; i < levels; i++) schema = z.object({ a: schema, b: schema });
    return JSON.stringify(new JsonSchemas().of(schema)).length;
  };
  expect(lengthOf(9)).toBeLessThan(3 * lengthOf(5));
});

test("constants that each use the one before twice, 30 levels deep, are generated", async () => {
  const objects = (before: string): string => `z.object({ a: ${before}, b: ${before} })`;
  expect(
    await sizeOf(30, (before, level) => (level % 2 === 0 ? objects(before) : unions(before, level)), ".ts"),
  ).toBeLessThan(200_000);
});

test("twelve types that refer to each other are generated", async () => {
  const names = Array.from({ length: 12 }, (_, i) => `T${i}`);
  const fields = names.map((name) => `get ${name}() { return ${name}.optional(); },`).join(" ");
  const types = names.map((name, i) => `const ${name}: z.ZodType = z.object({ k: z.literal(${i}), ${fields} });\n`);
  const path = workspace.write(
    "mutual.service.ts",
    `import { rpc, service } from "@quicrpc/core";\nimport { z } from "zod";\n${types.join("")}` +
      'export const S = service("test.v1.S", { m: rpc({ input: T0 }) });',
  );
  expect((await generate({ files: [path] })).diagnostics).toEqual([]);
});
