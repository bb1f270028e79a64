import { SourceMap, type SourceMapPayload } from "node:module";
import { extname } from "node:path";
import type { JitiOptions } from "jiti";
import type { ts as compiler } from "ts-morph";
import { plainModule } from "./plain-module.js";
import { ts } from "./source/compiler.js";

type Transform = NonNullable<JitiOptions["transform"]>;

/** Syntax that means something else in a CommonJS module, or may: it is left to jiti's own transform. */
const BEYOND_COMMONJS = /\bimport\s*[.(]|\b(?:await|require|exports)\b/;

const OPTIONS: compiler.CompilerOptions = {
  module: ts.ModuleKind.CommonJS,
  target: ts.ScriptTarget.ES2022,
  // An import is what jiti gives: a namespace.
  esModuleInterop: false,
  isolatedModules: true,
  noResolve: true,
  noLib: true,
  // The types are the user's compiler's to check; here it would take long.
  noCheck: true,
  removeComments: true,
  experimentalDecorators: true,
};

/** Parses a module, for others too. */
export type Parse = (file: string, source: string) => compiler.SourceFile;

const parseAlone: Parse = (file, source) => ts.createSourceFile(file, source, ts.ScriptTarget.ES2022, false);

/** The source of what was transpiled last, by file. */
const sources = new Map<string, string>();
/** The files that were left as they were, a line further down. */
const plainFiles = new Set<string>();

/** The line and column (from 1) of a source where `line` and `column` are what its stack trace says. */
export function sourcePosition(file: string, line: number, column: number): readonly [line: number, column: number] {
  if (plainFiles.has(file)) return [line - 1, column];
  const source = sources.get(file);
  // Errors are rare and maps dear: a map is made where one is needed.
  const map = source === undefined ? undefined : emit(file, parseAlone(file, source), true)?.map;
  if (map === undefined) return [line, column];
  const found = new SourceMap(JSON.parse(map) as SourceMapPayload).findEntry(line - 1, column - 1);
  return "originalLine" in found ? [found.originalLine + 1, found.originalColumn + 1] : [line, column];
}

/**
 * TypeScript to CommonJS by the compiler that is loaded anyway, in a fraction of the time of jiti's Babel. Undefined for
 * what it leaves to Babel: modules beyond CommonJS, and those with mistakes, which Babel reports.
 */
export function transpile(
  { filename, source, async }: Parameters<Transform>[0],
  parse: Parse = parseAlone,
): ReturnType<Transform> | undefined {
  if (filename === undefined) return undefined;
  sources.delete(filename);
  plainFiles.delete(filename);
  if (!/^\.[cm]?ts$/.test(extname(filename)) || BEYOND_COMMONJS.test(source)) return undefined;
  const file = parse(filename, source);
  const plain = hasMistakes(file) ? undefined : plainModule(file, source, async === true ? IMPORT : "require(");
  if (plain !== undefined) {
    plainFiles.add(filename);
    return { code: plain };
  }
  const code = emit(filename, file, false)?.code;
  if (code === undefined) return undefined;
  sources.set(filename, source);
  // Imports of packages are the same modules as everyone else's only by way of `import`.
  return { code: async === true ? code.replaceAll("require(", IMPORT) : code };
}

/** The beginning of an import in code that jiti runs. */
const IMPORT = "await jitiImport(";

/** Whether the parser found something that is no TypeScript. */
function hasMistakes(file: compiler.SourceFile): boolean {
  const { parseDiagnostics } = file as { readonly parseDiagnostics?: readonly unknown[] };
  return parseDiagnostics === undefined || parseDiagnostics.length > 0;
}

/** Returns the compiler's output for a module; undefined where that has mistakes. */
function emit(
  filename: string,
  file: compiler.SourceFile,
  sourceMap: boolean,
): { readonly code: string | undefined; readonly map: string | undefined } | undefined {
  let code: string | undefined;
  let map: string | undefined;
  const options = { ...OPTIONS, sourceMap };
  const program = ts.createProgram([filename], options, {
    getSourceFile: (name) => (name === filename ? file : undefined),
    writeFile: (name, text) => {
      if (name.endsWith(".map")) map = text;
      else code = text;
    },
    getDefaultLibFileName: () => "lib.d.ts",
    useCaseSensitiveFileNames: () => true,
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => "",
    getNewLine: () => "\n",
    fileExists: (name) => name === filename,
    readFile: () => undefined,
    directoryExists: () => true,
    getDirectories: () => [],
  });
  if (program.getSyntacticDiagnostics(file).length > 0) return undefined;
  program.emit(file);
  return { code, map };
}
