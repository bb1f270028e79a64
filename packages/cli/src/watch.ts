import { once } from "node:events";
import { isAbsolute, relative } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { affectsOutput, type SchemaRun } from "@quicrpc/codegen";
import { watch } from "chokidar";
import { terminated, keepAlive } from "./process-lifetime.js";

/** Milliseconds for which changes are collected: editors write a file in several steps, and git writes many files. */
const SETTLE_MS = 50;
/**
 * Maximum wait for chokidar to be ready, in milliseconds. It may not report that if a folder disappears while it is
 * read, but watches the rest all the same.
 */
const READY_MS = 5000;
const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;
const IGNORED = /(?:^|[\\/])(?:node_modules|dist|\.[^\\/]+)(?:[\\/]|$)/;

/** A changed file of a project: chokidar's event and the path. */
export interface FileChange {
  readonly event: string;
  readonly path: string;
}

/** Watches the sources of a project until it is closed. It does not keep the process alive. */
export interface SourceWatcher {
  /** Resolves when the current call of `onChanges` has ended. No other follows. */
  close(): Promise<void>;
}

/**
 * Calls `onChanges` with changed sources below `root` or among `sources` for which `matters` returns true. Changes that
 * happen together are passed together, and the next call waits for the previous one, which resolves to the new list of
 * sources. Resolves when it watches.
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
  /** Returns the files that are not below the watched root. */
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

/** Runs `generate`, and again whenever a source of the project around `cwd` changes, until the process receives a signal to end. */
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
