import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { GeneratedFile } from "../src/index.js";

/** A directory inside the repository, so that packages are found from it as from a user's project. */
export interface Workspace extends Disposable {
  readonly path: string;
  /** Writes a file and gives its absolute path. */
  write(name: string, text: string): string;
}

export function createWorkspace(): Workspace {
  const cache = fileURLToPath(new URL("../.cache", import.meta.url));
  mkdirSync(cache, { recursive: true });
  const path = mkdtempSync(join(cache, "test-"));
  return {
    path,
    write(name, text) {
      const file = join(path, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Imports that links in comments lead to, which linters take for unused. */
const LINKED =
  /\/\* eslint-disable (no-unused-vars, @typescript-eslint\/no-unused-vars) \*\/\nimport [^;]*;\n\/\* eslint-enable \1 \*\/\n/;

/** Writes generated files without what keeps compilers and linters from checking codecs. */
export function writeChecked(files: readonly GeneratedFile[]): void {
  for (const { path, text } of files) {
    const checked = text.replace(/^\/\/ .*\n\/\* eslint-disable \*\/\n\/\/ @ts-nocheck\n/m, "");
    if (path.endsWith(".codecs.ts") === (checked === text) || /@ts-|eslint-/.test(checked.replace(LINKED, ""))) {
      throw new Error(`${path} is not what these tests take it for.`);
    }
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, checked);
  }
}

export function fixture(name: string): string {
  return fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
}

/** TypeScript's own compiler, as the workspace has it. */
export const TSC: string = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url));
