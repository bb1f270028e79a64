import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { importExtensionOf } from "./import-extension.js";
import { Imports } from "./print/imports.js";
import { TsConfigs } from "./tsconfig.js";

const folder = mkdtempSync(join(tmpdir(), "quicrpc-extension-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The settings of `create-next-app` that Next's bundler reads: it finds no .ts file by another ending. */
const next = { module: "esnext", moduleResolution: "bundler", noEmit: true };

test.for([
  [{ module: "nodenext" }, "js"],
  [{ module: "nodenext", noEmit: true }, "js"],
  [{ module: "nodenext", allowImportingTsExtensions: true, noEmit: true }, "ts"],
  [{ module: "nodenext", rewriteRelativeImportExtensions: true }, "ts"],
  [next, "none"],
  [{ module: "preserve", noEmit: true }, "none"],
  [{ ...next, allowImportingTsExtensions: true }, "ts"],
  // What the compiler writes may run in Node, which adds no ending.
  [{ module: "esnext", moduleResolution: "bundler" }, "js"],
] as const)("under %o files are imported by %s", ([compilerOptions, extension]) => {
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  expect(importExtensionOf(new TsConfigs().optionsFor(join(folder, "a.ts")))).toBe(extension);
});

test("an ending that cannot be left out stays", () => {
  const imports = new Imports("/a/generated/b.ts", "none", () => false);
  expect(["b.ts", "b.tsx", "b.js", "b.mts", "b.cts"].map((file) => imports.specifierOf(`/a/${file}`))).toEqual([
    "../b",
    "../b",
    "../b",
    "../b.mjs",
    "../b.cjs",
  ]);
});
