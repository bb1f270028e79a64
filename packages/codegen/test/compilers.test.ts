import { spawn } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generate, writeGenerated } from "../src/index.js";
import { createWorkspace, fixture } from "./workspace.js";

const workspace = createWorkspace();
afterAll(() => workspace[Symbol.dispose]());

const STRICT = {
  target: "es2022",
  lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  skipLibCheck: true,
  isolatedDeclarations: true,
  declaration: true,
  noEmit: true,
};
const RESOLUTIONS = {
  nodenext: { module: "nodenext", moduleResolution: "nodenext" },
  bundler: { module: "esnext", moduleResolution: "bundler" },
};
const COMPILERS = ["typescript-5.9", "typescript-6", "typescript"];

beforeAll(async () => {
  const schemas = ["rich.service.ts", "wide.service.ts", "shared.ts"].map((name) => {
    copyFileSync(fixture(name), join(workspace.path, name));
    return join(workspace.path, name);
  });
  const passedOn = workspace.write("all.service.ts", 'export { Rich, Second as Other } from "./rich.service.js";\n');
  const written: string[] = [];
  for (const target of ["both", "client", "server"] as const) {
    const { files } = await generate({
      files: [...schemas.slice(0, 2), passedOn],
      importExtension: "js",
      target,
      out: join(workspace.path, target),
    });
    writeGenerated(files);
    written.push(...files.map(({ path }) => path));
  }
  if (written.length !== 16) throw new Error(`Generated: ${written.join(", ")}.`);
  for (const [name, options] of Object.entries(RESOLUTIONS)) {
    const compilerOptions = { ...STRICT, ...options };
    workspace.write(
      `${name}.json`,
      JSON.stringify({
        compilerOptions,
        files: written,
      }),
    );
  }
});

test.each(
  COMPILERS.flatMap((compiler) => Object.keys(RESOLUTIONS).map((resolution) => [compiler, resolution] as const)),
)("%s compiles generated code under %s", { timeout: 120_000 }, async (compiler, resolution) => {
  const tsc = fileURLToPath(new URL(`../../../node_modules/${compiler}/bin/tsc`, import.meta.url));
  const child = spawn(process.execPath, [tsc, "-p", `${resolution}.json`], { cwd: workspace.path });
  const [said, failed] = await Promise.all([text(child.stdout), text(child.stderr)]);
  // A schema's own types are inferred, which isolatedDeclarations does not allow: those complaints are not ours.
  const ours = `${said}${failed}`
    .split("\n")
    .filter((line) => line !== "" && !/^\s|^(rich\.service|wide\.service|shared)\.ts.*error TS90\d\d/.test(line));
  expect(ours).toEqual([]);
});
