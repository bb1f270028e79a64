import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { GeneratedFile } from "./generate.js";
import { HEADER } from "./print/header.js";

/**
 * Returns generated files, next to `files` or at the paths `others`, whose schemas no longer exist. `files` must be all
 * generated files of a project. Files without the generator's header are ignored.
 */
export function findStale(files: readonly GeneratedFile[], others: readonly string[]): string[] {
  const current = new Set(files.map(({ path }) => path));
  const directories = new Set(files.filter(({ schema }) => schema !== undefined).map(({ path }) => dirname(path)));
  const beside = [...directories]
    .filter((directory) => existsSync(directory) && statSync(directory).isDirectory())
    .flatMap((directory) => readdirSync(directory).map((name) => join(directory, name)))
    .filter((path) => path.endsWith(".ts"));
  return [...new Set([...beside, ...others])].filter((path) => !current.has(path) && isGenerated(path)).sort();
}

function isGenerated(path: string): boolean {
  return existsSync(path) && readFileSync(path, "utf8").startsWith(HEADER);
}

/** Deletes the files that `findStale` returned. */
export function removeStale(paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { force: true });
}
