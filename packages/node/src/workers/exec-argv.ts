import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const REQUIRE = "--require";
const ORPHAN = join("dist", "workers", "orphan.cjs");

/**
 * Additional Node arguments for a worker (orphan.cts). None if this package's files are not found, as in a bundled
 * program.
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

/** Removes these arguments from this worker's own, so that processes that it starts do not inherit them. */
export function forgetWorkerExecArgv(): void {
  const at = process.execArgv.findIndex((argument) => argument.endsWith(ORPHAN));
  if (at > 0) process.execArgv.splice(at - 1, 2);
}
