import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const REQUIRE = "--require";
const ORPHAN = join("dist", "workers", "orphan.cjs");

/** Arguments of Node for a worker beside those that it would have (orphan.cts). None where this package's files are not found, as in a program that was bundled. */
export function workerExecArgv(): readonly string[] {
  try {
    const manifest = createRequire(import.meta.url).resolve("@quicrpc/node/package.json");
    const file = join(dirname(manifest), ORPHAN);
    return existsSync(file) ? [REQUIRE, file] : [];
  } catch {
    return [];
  }
}

/** Takes these arguments out of this worker's own: processes that it starts have no business with them. */
export function forgetWorkerExecArgv(): void {
  const at = process.execArgv.findIndex((argument) => argument.endsWith(ORPHAN));
  if (at > 0) process.execArgv.splice(at - 1, 2);
}
