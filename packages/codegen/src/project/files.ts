import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { globSync, isDynamicPattern } from "tinyglobby";
import type { Diagnostic } from "../diagnostics.js";

/** The schema modules that `patterns` (paths and globs) name, as absolute paths, sorted within each pattern. */
export function findSchemaFiles(
  patterns: readonly string[],
  cwd: string,
  exclude: readonly string[] = [],
): { readonly files: readonly string[]; readonly diagnostics: readonly Diagnostic[] } {
  const files = new Set<string>();
  const diagnostics: Diagnostic[] = [];
  for (const pattern of patterns) {
    const path = resolve(cwd, pattern);
    // A path with brackets in it, say, is a path where there is such a file.
    if (existsSync(path) || !isDynamicPattern(pattern)) {
      files.add(path);
      continue;
    }
    const found = globSync(pattern.replaceAll("\\", "/"), {
      cwd,
      absolute: true,
      ignore: ["**/node_modules/**", "**/dist/**", ...exclude],
      expandDirectories: false,
    });
    for (const file of found.sort()) files.add(file);
    if (found.length === 0) {
      diagnostics.push({
        code: "no-files",
        message: `No file matches ${pattern} in ${cwd}.`,
        help: "Name the schema modules, as in quicrpc gen src/arith.service.ts.",
      });
    }
  }
  return { files: [...files], diagnostics };
}
