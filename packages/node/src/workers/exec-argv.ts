import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const REQUIRE = "--require";
const ORPHAN = join("dist", "workers", "orphan.cjs");

/**
 * Returns additional Node command-line arguments for a worker, which load orphan.cts. Empty if this package's files are
 * not found, as in a bundled program.
 */
export function workerExecArgv(): readonly string[] {
  try {
    const manifest = createRequire(import.meta.url).resolve("@quicrpc/node/package.json");
    const file = join(dirname(manifest), ORPHAN);
    return existsSync(file) ? [REQUIRE, file] : [];
  } catch {
    return [];
  }
}

/**
 * Removes the arguments of `workerExecArgv` from this worker's `process.execArgv`, so that its child processes do not
 * inherit them.
 */
export function forgetWorkerExecArgv(): void {
  const at = process.execArgv.findIndex((argument) => argument.endsWith(ORPHAN));
  if (at > 0) process.execArgv.splice(at - 1, 2);
}
