import { existsSync, readdirSync } from "node:fs";
import { relative, resolve } from "node:path";
import { globSync, isDynamicPattern } from "tinyglobby";
import type { Diagnostic } from "../diagnostics.js";

/** A path or pattern with a hidden folder in it. */
const HIDDEN = /(?:^|[\\/])\.[^.\\/]/;

/**
 * The schema modules that `patterns` (paths and globs) name, as absolute paths, sorted within each pattern. Each glob is looked for in `maxFolders` folders at
 * most, none of them hidden.
 */
export function findSchemaFiles(
  patterns: readonly string[],
  cwd: string,
  exclude: readonly string[] = [],
  maxFolders: number = Infinity,
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
    let folders = 0;
    const passesHidden = !HIDDEN.test(pattern);
    const bounded = (folder: string, ...more: never[]): unknown => {
      // What is hidden matches no pattern that does not name it, and need not be read.
      if (passesHidden && HIDDEN.test(relative(cwd, folder))) return [];
      return ++folders > maxFolders ? [] : readdirSync(folder, ...more);
    };
    const found = globSync(pattern.replaceAll("\\", "/"), {
      cwd,
      absolute: true,
      ignore: ["**/node_modules/**", "**/dist/**", ...exclude],
      expandDirectories: false,
      fs: { readdirSync: bounded as typeof readdirSync },
    });
    for (const file of found.sort()) files.add(file);
    if (found.length === 0) {
      diagnostics.push({
        code: "no-files",
        message: `No file matches ${pattern} in ${cwd}${folders > maxFolders ? `, of which the first ${maxFolders} folders were looked at` : ""}.`,
        help: "Name the schema modules, as in quicrpc gen src/arith.service.ts.",
      });
    }
  }
  return { files: [...files], diagnostics };
}
