import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { GeneratedFile } from "./generate.js";

/** Writes the files whose content has changed. Replaces each file atomically, so that no reader sees a partial file. */
export function writeGenerated(files: readonly GeneratedFile[]): void {
  for (const { path, text, changed } of files) {
    if (!changed) continue;
    mkdirSync(dirname(path), { recursive: true });
    const temporary = `${path}.${process.pid}.tmp`;
    writeFileSync(temporary, text);
    renameSync(temporary, path);
  }
}
