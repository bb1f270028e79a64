import { once } from "node:events";
import { relative } from "node:path";
import { isReason, type SchemaRun } from "@quicrpc/codegen";
import { watch } from "chokidar";

/** Changes within this time are one: editors write a file in several steps, and git writes many files. */
const SETTLE_MS = 50;
const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;
const IGNORED = /(?:^|[\\/])(?:node_modules|dist|\.[^\\/]+)(?:[\\/]|$)/;

/** Runs `generate`, and again whenever a source of the project around `cwd` changes, until the process receives a signal to end. */
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
    if (isReason(event, path, last)) settle();
  });
  await once(watcher, "ready");
  process.stdout.write(`watching ${relative(cwd, root) || "."} for changes\n`);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  clearTimeout(timer);
  await watcher.close();
  await running;
}
