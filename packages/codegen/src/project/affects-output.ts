import { existsSync, realpathSync } from "node:fs";
import type { SchemaRun } from "./run-project.js";

/** Files that say what is generated, and how. */
const SETTING =
  /(?:^|[\\/])(?:tsconfig[^\\/]*\.json|package\.json|quicrpc\.(?:lock|schema)\.json|quicrpc\.config\.[cm]?[jt]s)$/;
const TYPESCRIPT = /(?<!\.d)\.[cm]?tsx?$/;

const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;

/** Whether a change of `path`, by its event of chokidar, may change what the `last` run made. What that run wrote does not, nor what a compiler makes of it. */
export function affectsOutput(event: string, path: string, last: SchemaRun): boolean {
  if (!SOURCE.test(path)) return false;
  if (last.files.some((file) => file.path === path)) return false;
  if (last.diagnostics.length > 0 || SETTING.test(path)) return true;
  const real = existsSync(path) ? realpathSync(path) : path;
  return last.sources.includes(path) || last.sources.includes(real) || (event === "add" && TYPESCRIPT.test(path));
}
