import { existsSync, readdirSync } from "node:fs";
import { relative, resolve } from "node:path";
import { globSync, isDynamicPattern } from "tinyglobby";
import type { Diagnostic } from "../diagnostics.js";

/** Matches a path or pattern that contains a hidden folder. */
const HIDDEN = /(?:^|[\\/])\.[^.\\/]/;

/**
 * Returns absolute paths of the schema modules that `patterns` match, sorted within each pattern.
 *
 * @param patterns paths and globs
 * @param maxFolders maximum number of folders to search for each glob; hidden folders are skipped
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
    // A path may contain brackets and similar characters. If such a file exists, the text is not treated as a pattern.
    if (existsSync(path) || !isDynamicPattern(pattern)) {
      files.add(path);
      continue;
    }
    let folders = 0;
    const passesHidden = !HIDDEN.test(pattern);
    const bounded = (folder: string, ...more: never[]): unknown => {
      // Hidden folders are only searched for patterns that name one.
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
