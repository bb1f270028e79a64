// The table of zod's types in docs/codecs.md against the generator.
import { readFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import * as zod from "zod";
import type { z } from "zod";
import { isCompiled, present } from "../src/codec/compiled.js";
import { generate, type GenerateResult, nodeOf } from "../src/index.js";
import { createWorkspace } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const page = readFileSync(new URL("../../../docs/codecs.md", import.meta.url), "utf8");
const [, section = ""] = /### Which zod types work\n(.*?)\n### /s.exec(page) ?? [];
const rows = [...section.matchAll(/^\| (`z\.[^|]+) \| (compiled|interpreted|zod|refused) \|/gm)].flatMap(
  ([, cell = "", how = ""]) => [...cell.matchAll(/`([^`]+)`/g)].map(([, source = ""]) => ({ source, how })),
);

/** Generates a service whose method `m0` has the first schema as its input, `m1` the second, and so on. */
async function generated(name: string, sources: readonly string[]): Promise<[GenerateResult, readonly z.ZodType[]]> {
  const path = workspace.write(
    name,
    [
      'import { rpc, service } from "@quicrpc/core";',
      'import { z } from "zod";',
      'export const S = service("test.v1.S", {',
      ...sources.map((source, i) => `  m${i}: rpc({ input: ${source} }),`),
      "});",
    ].join("\n"),
  );
  const { S } = (await import(/* @vite-ignore */ path)) as { S: { methods: Record<string, { input: z.ZodType }> } };
  const schemas = Object.values(S.methods).map(({ input }) => input);
  return [await generate({ files: [path], importExtension: "ts" }), schemas];
}

test("the table says how each type is read and written, and has every type", async () => {
  const working = rows.filter(({ how }) => how !== "refused");
  const [{ files, diagnostics }, schemas] = await generated(
    "working.service.ts",
    working.map(({ source }) => source),
  );
  expect(diagnostics).toEqual([]);
  const codecs = files.find(({ path }) => path.endsWith(".codecs.ts"))?.text ?? "";
  const found = schemas.map((schema, i) => {
    const needsZod = codecs.includes(`schemaAt(S, ["methods", "m${i}"`);
    return needsZod ? "zod" : isCompiled(present(nodeOf(schema))) ? "compiled" : "interpreted";
  });
  expect(working.map(({ source }, i) => ({ source, how: found[i] }))).toEqual(working);

  const all = [...schemas];
  for (const [i, { source }] of rows.filter(({ how }) => how === "refused").entries()) {
    const [{ diagnostics }, refused] = await generated(`refused${i}.service.ts`, [source]);
    expect({ source, refused: diagnostics.length > 0 }).toEqual({ source, refused: true });
    all.push(...refused);
  }
  const types = Object.keys(zod).filter((name) => /^Zod(?!IssueCode|FirstParty)(?!.*Error$)/.test(name));
  expect(types.filter((type) => !all.some(({ _zod }) => _zod.traits.has(type)))).toEqual([]);
});
