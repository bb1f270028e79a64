import { once } from "node:events";
import { isAbsolute, relative } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { affectsOutput, type SchemaRun } from "@quicrpc/codegen";
import { watch } from "chokidar";
import { terminated, keepAlive } from "./process-lifetime.js";

/**
 * Milliseconds for which changes are collected before they are reported. Editors write a file in several steps, and git
 * writes many files.
 */
const SETTLE_MS = 50;
/**
 * Maximum time in milliseconds to wait until chokidar is ready. If a folder disappears while chokidar reads it, it may
 * never report that it is ready, but still watches the other folders.
 */
const READY_MS = 5000;
const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;
const IGNORED = /(?:^|[\\/])(?:node_modules|dist|\.[^\\/]+)(?:[\\/]|$)/;

export interface FileChange {
  readonly event: string;
  readonly path: string;
}

/** Watches the source files of a project until it is closed. Does not keep the process running. */
export interface SourceWatcher {
  /** Stops watching. Resolves when the call of `onChanges` in progress has ended; it is not called again. */
  close(): Promise<void>;
}

/**
 * Watches source files below `root` and those in `sources`. Calls `onChanges` with the changed files for which
 * `matters` returns true. Changes at about the same time are passed together. The next call waits for the previous one,
 * which resolves to the new list of sources. Resolves when watching has started.
 */
export async function watchSources(
  { root, sources }: Pick<SchemaRun, "root" | "sources">,
  matters: (change: FileChange) => boolean,
  onChanges: (changes: readonly FileChange[]) => Promise<readonly string[]>,
): Promise<SourceWatcher> {
  let changes: FileChange[] = [];
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let closing = false;
  const start = (): void => {
    if (running !== undefined) return settle();
    const seenChanges = changes;
    changes = [];
    const done = onChanges(seenChanges).then((files) => {
      if (!closing) watcher.add(further(files));
    });
    running = done.finally(() => {
      running = undefined;
    });
  };
  const settle = (): void => {
    clearTimeout(timer);
    timer = setTimeout(start, SETTLE_MS);
  };
  const isIgnored = (path: string): boolean => {
    const relativePath = relative(root, path);
    return IGNORED.test(relativePath) || isAbsolute(relativePath);
  };
  const ignored = new Set<string>();
  /** Returns the files that are not below the watched folder `root`. */
  const further = (files: readonly string[]): string[] => {
    const ignoredFiles = files.filter((file) => !ignored.has(file) && isIgnored(file));
    for (const file of ignoredFiles) ignored.add(file);
    return ignoredFiles;
  };
  const watcher = watch([root, ...further(sources)], {
    // One that is opened while it closes keeps no process alive.
    persistent: false,
    ignoreInitial: true,
    ignored: (path, stats) => {
      if (ignored.has(path)) return false;
      return isIgnored(path) || (stats?.isFile() === true && !SOURCE.test(path));
    },
  });
  watcher.on("all", (event, path) => {
    const change = { event, path };
    if (!matters(change)) return;
    changes.push(change);
    settle();
  });
  const quietTimer = new AbortController();
  await Promise.race([once(watcher, "ready"), passed(READY_MS, undefined, quietTimer)]);
  quietTimer.abort();
  return {
    async close() {
      closing = true;
      clearTimeout(timer);
      await watcher.close();
      await running;
    },
  };
}

/**
 * Calls `generate`, and calls it again whenever a source file of the project around `cwd` changes. Resolves when the
 * process receives a signal to end.
 */
export async function watchProject(cwd: string, generate: () => Promise<{ readonly run: SchemaRun }>): Promise<void> {
  let last = (await generate()).run;
  const { root } = last;
  const watcher = await watchSources(
    last,
    ({ event, path }) => affectsOutput(event, path, last),
    async () => {
      try {
        last = (await generate()).run;
      } catch (error) {
        // The next change may mend it.
        process.stderr.write(`error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      }
      return last.sources;
    },
  );
  process.stdout.write(`watching ${relative(cwd, root) || "."} for changes\n`);
  await keepAlive(terminated());
  await watcher.close();
}
