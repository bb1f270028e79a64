import { existsSync, realpathSync } from "node:fs";
import type { SchemaRun } from "./run-project.js";

/** Matches files that influence what is generated. */
const SETTING =
  /(?:^|[\\/])(?:tsconfig[^\\/]*\.json|package\.json|quicrpc\.(?:lock|schema)\.json|quicrpc\.config\.[cm]?[jt]s)$/;
const TYPESCRIPT = /(?<!\.d)\.[cm]?tsx?$/;

const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;

/**
 * Returns true if a change of the file `path` may change the output of the `last` run. Ignores files that the run
 * itself has written, and compiler output.
 *
 * @param event name of the chokidar event
 */
export function affectsOutput(event: string, path: string, last: SchemaRun): boolean {
  if (!SOURCE.test(path)) return false;
  if (last.files.some((file) => file.path === path)) return false;
  if (last.diagnostics.length > 0 || SETTING.test(path)) return true;
  const real = existsSync(path) ? realpathSync(path) : path;
  return last.sources.includes(path) || last.sources.includes(real) || (event === "add" && TYPESCRIPT.test(path));
}
