import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { GeneratedFile } from "./generate.js";
import { HEADER } from "./print/header.js";

/**
 * Files that an earlier run generated beside `files`, which must be all of a project's, and that no schema stands for any more.
 * Only files that carry the generator's header are named.
 */
export function findStale(files: readonly GeneratedFile[]): string[] {
  const current = new Set(files.map(({ path }) => path));
  const directories = new Set(files.filter(({ schema }) => schema !== undefined).map(({ path }) => dirname(path)));
  return [...directories]
    .filter((directory) => existsSync(directory))
    .flatMap((directory) =>
      readdirSync(directory)
        .filter((name) => name.endsWith(".ts"))
        .map((name) => join(directory, name))
        .filter((path) => !current.has(path) && readFileSync(path, "utf8").startsWith(HEADER))
        .sort(),
    );
}

/** Deletes what `findStale` found. */
export function removeStale(paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { force: true });
}
