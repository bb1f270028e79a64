// Generated code is as the project's own formatter and linter want it, whatever it is generated from.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generate, type GeneratedFile, type Target } from "../src/index.js";
import { schemas } from "./codec/schemas.js";
import { SEED } from "./codec/settings.js";
import { createWorkspace, fixture, writeChecked } from "./workspace.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const tool = (path: string): string => join(root, "node_modules", path);
const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const targets: readonly { readonly target: Target; readonly explain?: boolean }[] = [
  { target: "both" },
  { target: "client" },
  { target: "server" },
  { target: "client", explain: false },
];

/** The text of a file as the project's formatter writes it. */
function formatted({ path, text }: GeneratedFile): string {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [tool("@biomejs/biome/bin/biome"), "format", "--stdin-file-path", basename(path)],
    { cwd: root, input: text, encoding: "utf8" },
  );
  expect(stderr).toBe("");
  return stdout;
}

test("generated code for random schemas is formatted", { timeout: 60_000 }, async () => {
  // Names beyond ASCII are quoted, though they need not be.
  const plain = schemas(3).filter(({ source }) => !source.includes("größe"));
  const samples = fc.sample(plain, { numRuns: 30, seed: SEED });
  const methods = samples.map(({ source }, i) => `m${i}: rpc({ input: ${source}, output: ${source} }),`);
  const file = workspace.write(
    "random.service.ts",
    `import { rpc, service } from "@quicrpc/core";
     import { z } from "zod";
     export const S = service("test.v1.S", { ${methods.join("\n")} });`,
  );
  const { files } = await generate({ files: [file], importExtension: "ts" });
  expect(files).toHaveLength(3);
  for (const each of files) expect(each.text).toBe(formatted(each));
});

test("assertions of long unions are formatted", async () => {
  const long = (tag: string): string => `z.object({ kind: z.literal("${tag}"), ${tag.repeat(60)}: z.int() })`;
  const file = workspace.write(
    "assertions.service.ts",
    `import { rpc, service } from "@quicrpc/core";
     import { z } from "zod";
     ${["Aa", "Bb", "Cc"].map((name) => `export const ${name.repeat(25)} = ${long(name.charAt(0))};`).join("\n")}
     const all = [${["Aa", "Bb", "Cc"].map((name) => name.repeat(25)).join(", ")}] as const;
     export const S = service("test.v1.S", {
       a: rpc({ input: z.union([z.int(), z.discriminatedUnion("kind", all)]) }),
       b: rpc({ input: z.union([z.int(), z.array(z.discriminatedUnion("kind", all))]) }),
       c: rpc({ input: z.union([z.int(), z.map(z.string(), z.discriminatedUnion("kind", all)).nullable()]) }),
       d: rpc({ input: z.union([z.int(), z.union(all)]) }),
     });`,
  );
  const { files } = await generate({ files: [file], importExtension: "ts" });
  for (const each of files) expect(each.text).toBe(formatted(each));
});

describe.each(targets)("generated code for $target, explain: $explain", ({ target, explain = true }) => {
  const folder = `${target}-${explain}`;

  let files: readonly GeneratedFile[];

  beforeAll(async () => {
    const schemas = ["rich.service.ts", "wide.service.ts", "shared.ts"].map((name) => {
      const file = workspace.write(`${folder}/${name}`, "");
      copyFileSync(fixture(name), file);
      return file;
    });
    workspace.write(`${folder}/package.json`, '{ "type": "module" }');
    ({ files } = await generate({ files: schemas.slice(0, 2), importExtension: "js", target, explain }));
    writeChecked(files);
  });

  test("is formatted", () => {
    expect(files.map(({ path }) => basename(path)).filter((name) => !name.includes("tooling"))).toEqual([
      "_shared.ts",
      "_shared.codecs.ts",
      "rich.ts",
      "rich.codecs.ts",
      "wide.ts",
      "wide.codecs.ts",
    ]);
    for (const each of files) expect(each.text).toBe(formatted(each));
  });

  test("has no long line but of one long string, pattern or name", () => {
    const long = files.flatMap(({ text }) => text.split("\n").filter((line) => line.length > 120));
    expect(
      long.filter((line) => !/^\s*(?:\w+: )?(?:"(?:[^"\\]|\\.)*"|\/\^.*\$?\/\w*)[,;]$|^\s*\* @pattern \S+$/.test(line)),
    ).toEqual([]);
  });

  test("is lint-clean", { timeout: 60_000 }, () => {
    // Elsewhere, since the linter passes over what git ignores.
    const directory = mkdtempSync(join(tmpdir(), "quicrpc-lint-"));
    try {
      cpSync(join(workspace.path, folder), directory, { recursive: true });
      symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
      const compilerOptions = { types: [], skipLibCheck: true, noEmit: true, composite: false };
      writeFileSync(
        join(directory, "tsconfig.json"),
        JSON.stringify({ extends: join(root, "tsconfig.base.json"), compilerOptions, include: ["**/*.ts"] }),
      );
      // The schemas themselves ask for `any`.
      const options = ["-c", join(root, ".oxlintrc.json"), "-A", "typescript/no-explicit-any", "generated"];
      const { stdout, stderr } = spawnSync(process.execPath, [tool("oxlint/bin/oxlint"), ...options], {
        cwd: directory,
        encoding: "utf8",
      });
      expect(stderr).toBe("");
      expect(stdout).toContain("Found 0 warnings and 0 errors.");
      expect(stdout).toMatch(/on [68] files/);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
