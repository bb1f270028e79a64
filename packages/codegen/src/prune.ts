import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { GeneratedFile } from "./generate.js";
import { HEADER } from "./print/header.js";

/**
 * Files that an earlier run generated beside `files`, which must be all of a project's, or at `others`, and that no schema stands
 * for any more. Only files that carry the generator's header are named.
 */
export function findStale(files: readonly GeneratedFile[], others: readonly string[]): string[] {
  const current = new Set(files.map(({ path }) => path));
  const directories = new Set(files.filter(({ schema }) => schema !== undefined).map(({ path }) => dirname(path)));
  const beside = [...directories]
    .filter((directory) => existsSync(directory) && statSync(directory).isDirectory())
    .flatMap((directory) => readdirSync(directory).map((name) => join(directory, name)));
  return [...new Set([...beside, ...others])]
    .filter((path) => path.endsWith(".ts") && !current.has(path) && isGenerated(path))
    .sort();
}

function isGenerated(path: string): boolean {
  return existsSync(path) && readFileSync(path, "utf8").startsWith(HEADER);
}

/** Deletes what `findStale` found. */
export function removeStale(paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { force: true });
}
