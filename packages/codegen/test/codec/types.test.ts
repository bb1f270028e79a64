import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { generate } from "../../src/index.js";
import { createWorkspace, TSC, writeChecked } from "../workspace.js";
import { recursiveSchemas } from "./recursive.js";
import { schemas } from "./schemas.js";

const SEED = Number(process.env["QUICRPC_DIFFERENTIAL_SEED"] ?? 4_711);
const SCHEMAS = 60;
const RECURSIVE = 60;
const OPTIONS = {
  target: "es2022",
  lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  module: "nodenext",
  moduleResolution: "nodenext",
  skipLibCheck: true,
  noEmit: true,
};
const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

test("what is generated for schemas drawn at random compiles, and takes what zod's types take", {
  timeout: 300_000,
}, async () => {
  // The type of what a function makes is not found inside z.lazy.
  const drawn = schemas(3).filter(({ source }) => !/z\.lazy\(.*(?:transform|preprocess|codec)\(/.test(source));
  const samples = fc.sample(drawn, { numRuns: SCHEMAS, seed: SEED });
  const [recursive = []] = fc.sample(recursiveSchemas(schemas(0), RECURSIVE), { numRuns: 1, seed: SEED });
  const path = workspace.write(
    "types.service.ts",
    [
      'import { rpc, service } from "@quicrpc/core";',
      'import { z } from "zod";',
      "const Json = z.json();",
      ...recursive.map((source, i) => `${i % 3 === 0 ? "export " : ""}const R${i}: z.ZodType = ${source};`),
      'export const S = service("test.v1.S", {',
      "  json: rpc({ input: Json, output: z.object({ json: z.json().optional() }) }),",
      ...samples.map(({ source }, i) => `  m${i}: rpc({ input: ${source}, output: ${source} }),`),
      ...recursive.map((_, i) => `  r${i}: rpc({ input: R${i} }),`),
      "});",
    ].join("\n"),
  );
  const { files, diagnostics } = await generate({ files: [path], importExtension: "js" });
  expect(diagnostics).toEqual([]);
  writeChecked(files);
  const asserted = workspace.write(
    "types.assert.ts",
    [
      'import type { z } from "zod";',
      'import type { S } from "./types.service.js";',
      'import type { SClient, SHandlers } from "./generated/types.js";',
      // Not the other way around: generated code takes bytes of any buffer.
      "type Takes<Generated, Zod> = [Zod] extends [Generated] ? true : 'narrower';",
      "type Schema<Name extends keyof typeof S.methods> = (typeof S.methods)[Name]['input'];",
      "type Sent<Name extends keyof SClient> = Parameters<SClient[Name]>[0];",
      "type Received<Name extends keyof SHandlers> = Parameters<SHandlers[Name]>[0];",
      ...["json", ...samples.map((_, i) => `m${i}`)].flatMap((name) => [
        `export const ${name}In: Takes<Sent<"${name}">, z.input<Schema<"${name}">>> = true;`,
        `export const ${name}Out: Takes<Received<"${name}">, z.output<Schema<"${name}">>> = true;`,
      ]),
    ].join("\n"),
  );
  const inputs = [...files.map((file) => file.path).filter((name) => name.endsWith(".ts")), asserted];
  workspace.write("tsconfig.json", JSON.stringify({ compilerOptions: OPTIONS, files: inputs }));
  const child = spawn(process.execPath, [TSC, "-p", workspace.path]);
  const [said, failed] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(`${said}${failed}`).toBe("");
});
