import { existsSync, realpathSync } from "node:fs";
import type { SchemaRun } from "./run-project.js";

/** Files that determine what is generated, and how. */
const SETTING =
  /(?:^|[\\/])(?:tsconfig[^\\/]*\.json|package\.json|quicrpc\.(?:lock|schema)\.json|quicrpc\.config\.[cm]?[jt]s)$/;
const TYPESCRIPT = /(?<!\.d)\.[cm]?tsx?$/;

const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;

/**
 * Returns true if a change of `path` may change the output of the `last` run. Ignores files written by the run itself,
 * and compiler output.
 *
 * @param event the event of chokidar
 */
export function affectsOutput(event: string, path: string, last: SchemaRun): boolean {
  if (!SOURCE.test(path)) return false;
  if (last.files.some((file) => file.path === path)) return false;
  if (last.diagnostics.length > 0 || SETTING.test(path)) return true;
  const real = existsSync(path) ? realpathSync(path) : path;
  return last.sources.includes(path) || last.sources.includes(real) || (event === "add" && TYPESCRIPT.test(path));
}
