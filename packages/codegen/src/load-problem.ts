import { existsSync, readFileSync } from "node:fs";
import { dirname, isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import { nearest } from "@quicrpc/core/internal";
import type { ts as compiler } from "ts-morph";
import * as z from "zod";
import { type Diagnostic, placeAt } from "./diagnostics.js";
import { ts } from "./source/compiler.js";
import { sourcePosition } from "./transpile.js";

/** Returns a diagnostic that explains why the schema module `file` could not be loaded, and where. */
export function loadProblem(file: string, error: unknown): Diagnostic {
  const message = error instanceof Error ? error.message : String(error);
  const parseError = /ParseError:\s*(.*?)\s*\n\s*(.+?):(\d+):(\d+)/s.exec(message);
  if (parseError !== null) {
    const [, what = "", where = file, line, column] = parseError;
    return {
      code: "load-failed",
      message: `Syntax error: ${what}.`,
      // The parser counts columns from 0.
      ...readPlace(where, Number(line), Number(column) + 1),
    };
  }
  const specifier = /Cannot find (?:module|package) '([^']+)'/.exec(message)?.[1];
  if (specifier !== undefined) {
    const config = specifier.startsWith(".") ? undefined : brokenConfig(file);
    return (
      config ?? {
        code: "load-failed",
        message: `Cannot find ${specifier}, which this module imports.`,
        help: importHelp(specifier),
        ...placeOfText(file, specifier),
      }
    );
  }
  // Transpiled code refers to imports through module objects: zod_1.z.string, (0, core_1.rpc).
  const [firstLine = ""] = message
    .replace(/\b(?:_\w+|\w+_\d+)\.(?=\w)/g, "")
    .replace(/\(0 ?, (\w+)\)/g, "$1")
    .split("\n");
  return {
    code: "load-failed",
    message: `The module throws while it is loaded: ${firstLine}`,
    ...errorHelp(firstLine),
    ...placeInStack(file, error),
  };
}

/**
 * Returns a diagnostic for an `await` in `file` that did not settle. Its location is known if it is the only `await`.
 */
export function unsettledProblem(file: string): Diagnostic {
  const text = readText(file) ?? "";
  const [at, ...others] = awaitsOf(ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true));
  const before = text.slice(0, at).split("\n");
  return {
    code: "load-failed",
    message: "An await at the top level of this module does not settle.",
    help: "Leave it out: a schema module is run to be read, and connects to nothing.",
    ...(at === undefined || others.length > 0
      ? { file }
      : readPlace(file, before.length, (before.at(-1)?.length ?? 0) + 1)),
  };
}

function awaitsOf(node: compiler.Node): number[] {
  if (ts.isFunctionLike(node)) return [];
  const isAwait = ts.isAwaitExpression(node) || (ts.isForOfStatement(node) && node.awaitModifier !== undefined);
  const inside: number[] = [];
  ts.forEachChild(node, (child) => void inside.push(...awaitsOf(child)));
  return isAwait ? [node.getStart(), ...inside] : inside;
}

/**
 * Returns a diagnostic that explains why the nearest tsconfig.json of `file` could not be read. Its path aliases are
 * needed.
 */
export function configProblem(file: string, error: unknown): Diagnostic {
  const reason = error instanceof Error ? error.message : String(error);
  return {
    code: "load-failed",
    file: ts.findConfigFile(dirname(file), existsSync) ?? file,
    message: `This tsconfig.json cannot be read: ${reason}`,
    help: "Mend it, or what it extends: the paths of imports may be in it.",
  };
}

function importHelp(specifier: string): string {
  if (/^\.{0,2}\//.test(specifier)) return "Check the path.";
  if (/^[#~]|^@\//.test(specifier)) {
    return "Check the path, and what it stands for in the paths of tsconfig.json or the imports of package.json.";
  }
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  return `Install the package (npm install ${name}), or check its name.`;
}

/**
 * Returns a diagnostic for a mistake in the tsconfig.json of `file`, which may be the reason why an import was not
 * found; undefined if there is none.
 */
function brokenConfig(file: string): Diagnostic | undefined {
  const config = ts.findConfigFile(dirname(file), existsSync);
  const error = config === undefined ? undefined : ts.readConfigFile(config, (path) => readText(path)).error;
  if (config === undefined || error === undefined) return undefined;
  const before = (readText(config) ?? "").slice(0, error.start).split("\n");
  return {
    code: "load-failed",
    message: `This tsconfig.json cannot be read: ${ts.flattenDiagnosticMessageText(error.messageText, " ")}`,
    help: "Mend it: the paths of imports may be in it.",
    ...readPlace(config, before.length, (before.at(-1)?.length ?? 0) + 1),
  };
}

/** Packages that export names which schemas use, other than core. */
const MODULES: Readonly<Record<string, string>> = { blob: "@quicrpc/blobs", topic: "@quicrpc/topics" };

/** Returns the remedy if an error message may be due to a misspelt name. */
function errorHelp(message: string): Pick<Diagnostic, "help"> {
  const name = /^(?:z\.)?(\w+) is not a function/.exec(message)?.[1];
  const from = name === undefined ? undefined : MODULES[name];
  if (from !== undefined) return { help: `Import it from ${from}.` };
  if (name !== undefined) {
    const meant = message.startsWith("z.") ? nearest(name, Object.keys(z)) : undefined;
    return { help: meant === undefined ? "Check its spelling, and that it is exported." : `Did you mean z.${meant}?` };
  }
  return /^\w+ is not defined/.test(message) ? { help: "Import it, or check its spelling." } : {};
}

/** Returns the location of the innermost stack frame in the user's own code. */
function placeInStack(file: string, error: unknown): Pick<Diagnostic, "file" | "line" | "column" | "frame"> {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  for (const line of stack.split("\n")) {
    const frame = placeOfFrame(line);
    if (frame === undefined || frame.path.includes("node_modules")) continue;
    if (frame.path === file || /\.[cm]?ts$/.test(frame.path)) {
      return readPlace(frame.path, ...sourcePosition(frame.path, frame.line, frame.column));
    }
  }
  return { file };
}

/**
 * Returns the location in a line of a stack trace, such as `at f (path:1:2)`, `at path:1:2`, or one with a URL;
 * undefined if there is none.
 */
function placeOfFrame(line: string): { path: string; line: number; column: number } | undefined {
  const place = (/^\s*at .*? \((.*)\)$/.exec(line) ?? /^\s*at (?:async )?(.*)$/.exec(line))?.[1] ?? "";
  const [, name = "", row, column] = /^(.*):(\d+):(\d+)$/.exec(place) ?? [];
  const path = name.startsWith("file:") ? fileURLToPath(name) : name;
  return isAbsolute(path) ? { path, line: Number(row), column: Number(column) } : undefined;
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
