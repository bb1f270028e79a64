import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createJiti, type JitiOptions } from "jiti";
import { type Diagnostic, placeAt } from "./diagnostics.js";
import { type Parse, sourcePosition, transpile } from "./transpile.js";

const OPTIONS: JitiOptions = { fsCache: false, interopDefault: false, sourceMaps: true };
/** jiti with its own transform. */
const babel = createJiti(import.meta.url, OPTIONS);
/** The exports of a schema module, or why it could not be loaded. */
export type LoadResult =
  | { readonly exports: Readonly<Record<string, unknown>>; readonly problem?: never }
  | { readonly exports?: never; readonly problem: Diagnostic };

/**
 * Runs modules (TypeScript or JavaScript), afresh for each loader; modules that several of them import are run once, so that
 * a schema is one object however it is reached.
 */
export class ModuleLoader {
  readonly #before: ReadonlySet<string> = new Set(Object.keys(moduleCache));
  readonly #options: JitiOptions;

  /** `parse` is for whoever reads the modules too: they are parsed once then. */
  constructor(parse?: Parse) {
    const transform: JitiOptions["transform"] & object = (options) =>
      transpile(options, parse) ?? { code: babel.transform(options) };
    this.#options = { ...OPTIONS, tsconfigPaths: true, transform };
  }

  async load(file: string): Promise<LoadResult> {
    let jiti: ReturnType<typeof createJiti>;
    try {
      jiti = createJiti(file, this.#options);
    } catch (error) {
      // It reads the nearest tsconfig.json, for its paths.
      const reason = error instanceof Error ? error.message : String(error);
      return {
        problem: { code: "load-failed", file, message: `The tsconfig.json of this module cannot be read: ${reason}` },
      };
    }
    try {
      return { exports: await jiti.import<Record<string, unknown>>(file) };
    } catch (error) {
      return { problem: loadProblem(file, error) };
    }
  }

  /** Forgets what was run, except for packages. */
  dispose(): void {
    for (const path of Object.keys(moduleCache)) {
      if (!this.#before.has(path) && !path.includes("node_modules")) delete moduleCache[path];
    }
  }
}

/** Node's own, which jiti uses. */
const moduleCache = createRequire(import.meta.url).cache;

function loadProblem(file: string, error: unknown): Diagnostic {
  const message = error instanceof Error ? error.message : String(error);
  const parseError = /ParseError:\s*(.*?)\s*\n\s*(.+?):(\d+):(\d+)/s.exec(message);
  if (parseError !== null) {
    const [, what = "", where = file, line, column] = parseError;
    return {
      code: "load-failed",
      message: `Syntax error: ${what}.`,
      ...readPlace(where, Number(line), Number(column)),
    };
  }
  const unresolved = /Cannot find (?:module|package) '([^']+)'/.exec(message);
  if (unresolved !== null) {
    const place = placeOfText(file, unresolved[1] ?? "");
    return {
      code: "load-failed",
      message: `Cannot find ${unresolved[1]}, which this module imports.`,
      help: "Check the path, or install the package.",
      ...place,
    };
  }
  const [firstLine = ""] = message.split("\n");
  return {
    code: "load-failed",
    message: `The module throws while it is loaded: ${firstLine}`,
    ...placeInStack(file, error),
  };
}

/** The frame of the stack that is nearest to the throw and in the user's own code. */
function placeInStack(file: string, error: unknown): Pick<Diagnostic, "file" | "line" | "column" | "frame"> {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  for (const line of stack.split("\n")) {
    const match = /\(?((?:file:\/\/)?[^()\s]+):(\d+):(\d+)\)?$/.exec(line);
    if (match === null) continue;
    const path = (match[1] ?? "").replace(/^file:\/\//, "");
    if (!path.startsWith("/") || path.includes("/node_modules/")) {
      if (!/^[A-Za-z]:[\\/]/.test(path) || path.includes("node_modules")) continue;
    }
    if (path === file || /\.[cm]?ts$/.test(path)) {
      return readPlace(path, ...sourcePosition(path, Number(match[2]), Number(match[3])));
    }
  }
  return { file };
}

function placeOfText(file: string, needle: string): Pick<Diagnostic, "file" | "line" | "column" | "frame"> {
  const text = readText(file);
  const index = text?.indexOf(`${needle}"`) ?? -1;
  const at = index >= 0 ? index : (text?.indexOf(`${needle}'`) ?? -1);
  if (text === undefined || at < 0) return { file };
  const before = text.slice(0, at).split("\n");
  return placeAt(file, text, before.length, (before.at(-1)?.length ?? 0) + 1, needle.length);
}

function readPlace(file: string, line: number, column: number): Pick<Diagnostic, "file" | "line" | "column" | "frame"> {
  const text = readText(file);
  return text === undefined ? { file, line, column } : placeAt(file, text, line, column);
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
