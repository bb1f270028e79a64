import { createRequire } from "node:module";
import { dirname } from "node:path";
import { createJiti, type JitiOptions } from "jiti";
import type { Diagnostic } from "./diagnostics.js";
import { configProblem, loadProblem, unsettledProblem } from "./load-problem.js";
import { type Parse, transpile } from "./transpile.js";

const OPTIONS: JitiOptions = { fsCache: false, interopDefault: false, sourceMaps: true };
/** jiti with its own transform. */
const babel = createJiti(import.meta.url, OPTIONS);
/** The exports of a schema module, or the reason why it could not be loaded. */
export type LoadResult =
  | { readonly exports: Readonly<Record<string, unknown>>; readonly problem?: never }
  | { readonly exports?: never; readonly problem: Diagnostic };

/**
 * Loads TypeScript or JavaScript modules, afresh for each loader. A module that several others import is run once, so
 * that each schema is one object.
 */
export class ModuleLoader {
  readonly #before: ReadonlySet<string> = new Set(Object.keys(moduleCache));
  readonly #options: JitiOptions;
  /** Loaders by directory, because import aliases come from the nearest tsconfig.json. */
  readonly #jitis = new Map<string, ReturnType<typeof createJiti>>();

  /** @param parse parser shared with other readers of the modules, so that each module is parsed once */
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
      // jiti reads the nearest tsconfig.json for its paths.
      return { problem: configProblem(file, error) };
    }
    try {
      return { exports: await settled(jiti.import<Record<string, unknown>>(file)) };
    } catch (error) {
      if (error !== PENDING) return { problem: loadProblem(file, error) };
      // Modules are loaded one after the other, each after those that it imports.
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

  /** Files that were run, except those of packages. */
  get sources(): string[] {
    return Object.keys(moduleCache).filter((path) => !this.#before.has(path) && !path.includes("node_modules"));
  }

  /** Forgets the modules that were run, except those of packages. */
  dispose(): void {
    for (const path of this.sources) delete moduleCache[path];
  }
}

const PENDING = Symbol("pending");
/** Seconds without progress after which loading is given up. */
const IDLE_SECONDS = 30;

/**
 * Returns the result of `loading`. Rejects with `PENDING` if nothing is left that could settle it, in which case Node
 * would exit silently, and if no further module is loaded for `IDLE_SECONDS`.
 */
async function settled<T>(loading: Promise<T>): Promise<T> {
  let giveUp = (): void => {};
  const pending = new Promise<never>((_, reject) => {
    giveUp = () => reject(PENDING);
  });
  let modules = 0;
  let seconds = 0;
  // An interval counts no seconds in which the process is busy.
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

/** Node's own module cache, which jiti uses. */
const moduleCache = createRequire(import.meta.url).cache;
