import { once } from "node:events";
import { existsSync, realpathSync } from "node:fs";
import { relative } from "node:path";
import { watch } from "chokidar";
import type { SchemaRun } from "./generate-project.js";

/** Changes within this time are one: editors write a file in several steps, and git writes many files. */
const SETTLE_MS = 50;
const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;
const IGNORED = /(?:^|[\\/])(?:node_modules|dist|\.[^\\/]+)(?:[\\/]|$)/;

/** Files that say what is generated, and how. */
const SETTING =
  /(?:^|[\\/])(?:tsconfig[^\\/]*\.json|package\.json|quicrpc\.(?:lock|schema)\.json|quicrpc\.config\.[cm]?[jt]s)$/;
const TYPESCRIPT = /(?<!\.d)\.[cm]?tsx?$/;

/** Whether a change of `path` may change what the `last` run made. What that run wrote does not, nor what a compiler makes of it. */
function isReason(event: string, path: string, last: SchemaRun): boolean {
  if (last.files.some((file) => file.path === path)) return false;
  if (last.diagnostics.length > 0 || SETTING.test(path)) return true;
  const real = existsSync(path) ? realpathSync(path) : path;
  return last.sources.includes(path) || last.sources.includes(real) || (event === "add" && TYPESCRIPT.test(path));
}

/** Runs `generate`, and again whenever a source of the project around `cwd` changes, until the process is told to end. */
export async function watchProject(cwd: string, generate: () => Promise<{ readonly run: SchemaRun }>): Promise<void> {
  let last = await generate().then(({ run }) => run);
  const runOnce = async (): Promise<void> => {
    last = (await generate()).run;
  };
  const { root } = last;

  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  const start = (): void => {
    if (running !== undefined) return settle();
    running = runOnce().then(() => {
      running = undefined;
    });
  };
  const settle = (): void => {
    clearTimeout(timer);
    timer = setTimeout(start, SETTLE_MS);
  };

  const watcher = watch(root, {
    ignoreInitial: true,
    ignored: (path, stats) => {
      const inside = relative(root, path);
      return IGNORED.test(inside) || (stats?.isFile() === true && !SOURCE.test(path));
    },
  });
  watcher.on("all", (event, path) => {
    if (SOURCE.test(path) && isReason(event, path, last)) settle();
  });
  await once(watcher, "ready");
  process.stdout.write(`watching ${relative(cwd, root) || "."} for changes\n`);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  clearTimeout(timer);
  await watcher.close();
  await running;
}
