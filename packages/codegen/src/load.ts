import { createRequire } from "node:module";
import { dirname } from "node:path";
import { createJiti, type JitiOptions } from "jiti";
import type { Diagnostic } from "./diagnostics.js";
import { configProblem, loadProblem, unsettledProblem } from "./load-problem.js";
import { type Parse, transpile } from "./transpile.js";

const OPTIONS: JitiOptions = { fsCache: false, interopDefault: false, sourceMaps: true };
/** A jiti loader with its own transform, for modules that the TypeScript compiler cannot convert. */
const babel = createJiti(import.meta.url, OPTIONS);
/** The exports of a schema module, or the reason why it could not be loaded. */
export type LoadResult =
  | { readonly exports: Readonly<Record<string, unknown>>; readonly problem?: never }
  | { readonly exports?: never; readonly problem: Diagnostic };

/**
 * Loads TypeScript and JavaScript modules. Each loader runs modules again. A module that several others import runs
 * once, so that each schema is one object.
 */
export class ModuleLoader {
  readonly #before: ReadonlySet<string> = new Set(Object.keys(moduleCache));
  readonly #options: JitiOptions;
  /** jiti loaders by directory, because import aliases come from the nearest tsconfig.json. */
  readonly #jitis = new Map<string, ReturnType<typeof createJiti>>();

  /** @param parse parser that is shared with other readers of the modules, so that each module is parsed once */
  constructor(parse?: Parse) {
    const transform: JitiOptions["transform"] & object = (options) =>
      transpile(options, parse) ?? { code: babel.transform(options) };
    this.#options = { ...OPTIONS, tsconfigPaths: true, transform };
  }

  async load(file: string): Promise<LoadResult> {
    let jiti: ReturnType<typeof createJiti>;
    try {
      jiti = this.#jitiFor(file);
    } catch (error) {
      // jiti reads the nearest tsconfig.json for its path aliases.
      return { problem: configProblem(file, error) };
    }
    try {
      return { exports: await settled(jiti.import<Record<string, unknown>>(file)) };
    } catch (error) {
      if (error !== PENDING) return { problem: loadProblem(file, error) };
      // Modules are loaded one after the other, each after its imports, so the last incomplete module is the one that
      // is waiting.
      const pending = this.sources.findLast((path) => moduleCache[path]?.loaded === false);
      return { problem: unsettledProblem(pending ?? file) };
    }
  }

  #jitiFor(file: string): ReturnType<typeof createJiti> {
    const directory = dirname(file);
    const jiti = this.#jitis.get(directory) ?? createJiti(file, this.#options);
    this.#jitis.set(directory, jiti);
    return jiti;
  }

  /** Paths of the files that were run, except those of packages. */
  get sources(): string[] {
    return Object.keys(moduleCache).filter((path) => !this.#before.has(path) && !path.includes("node_modules"));
  }

  /** Removes the modules that were run from Node's cache, except those of packages. */
  dispose(): void {
    for (const path of this.sources) delete moduleCache[path];
  }
}

const PENDING = Symbol("pending");
/** Seconds without progress after which loading is stopped. */
const IDLE_SECONDS = 30;

/**
 * Returns the result of `loading`. Rejects with `PENDING` if nothing is left that could settle it (Node would otherwise
 * exit silently), and if no further module is loaded within `IDLE_SECONDS`.
 */
async function settled<T>(loading: Promise<T>): Promise<T> {
  let giveUp = (): void => {};
  const pending = new Promise<never>((_, reject) => {
    giveUp = () => reject(PENDING);
  });
  let modules = 0;
  let seconds = 0;
  // An interval is used because it does not fire while the process is busy.
  const timer = setInterval(() => {
    const before = modules;
    modules = Object.keys(moduleCache).length;
    seconds = modules === before ? seconds + 1 : 0;
    if (seconds === IDLE_SECONDS) giveUp();
  }, 1000).unref();
  process.once("beforeExit", giveUp);
  try {
    return await Promise.race([loading, pending]);
  } finally {
    process.off("beforeExit", giveUp);
    clearInterval(timer);
  }
}

/** Node's module cache, which jiti uses. */
const moduleCache = createRequire(import.meta.url).cache;
