import { SourceMap, type SourceMapPayload } from "node:module";
import { extname } from "node:path";
import type { JitiOptions } from "jiti";
import type { ts as compiler } from "ts-morph";
import { plainModule } from "./plain-module.js";
import { ts } from "./source/compiler.js";

type Transform = NonNullable<JitiOptions["transform"]>;

/**
 * Matches syntax that has, or may have, another meaning in a CommonJS module. jiti's own transform handles modules with
 * such syntax.
 */
const BEYOND_COMMONJS = /\bimport\s*[.(]|\b(?:await|require|exports)\b/;

const OPTIONS: compiler.CompilerOptions = {
  module: ts.ModuleKind.CommonJS,
  target: ts.ScriptTarget.ES2022,
  // jiti provides imports as namespaces already.
  esModuleInterop: false,
  isolatedModules: true,
  noResolve: true,
  noLib: true,
  // Types are not checked here, because the user's compiler does that, and it takes long.
  noCheck: true,
  removeComments: true,
  experimentalDecorators: true,
};

/** Parses a module. The implementation may share the result with other readers of the module. */
export type Parse = (file: string, source: string) => compiler.SourceFile;

const parseAlone: Parse = (file, source) => ts.createSourceFile(file, source, ts.ScriptTarget.ES2022, false);

/** Sources of the modules that were transpiled last, by file. */
const sources = new Map<string, string>();
/** Files that were converted without the compiler. Their lines in stack traces are one too high. */
const plainFiles = new Set<string>();

/** Converts a line and column in a stack trace (from 1) to those in the source. */
export function sourcePosition(file: string, line: number, column: number): readonly [line: number, column: number] {
  if (plainFiles.has(file)) return [line - 1, column];
  const source = sources.get(file);
  // Source maps are expensive and errors are rare, so a source map is created only when it is needed.
  const map = source === undefined ? undefined : emit(file, parseAlone(file, source), true)?.map;
  if (map === undefined) return [line, column];
  const found = new SourceMap(JSON.parse(map) as SourceMapPayload).findEntry(line - 1, column - 1);
  return "originalLine" in found ? [found.originalLine + 1, found.originalColumn + 1] : [line, column];
}

/**
 * Converts TypeScript to CommonJS with the compiler, which is loaded anyway and much faster than jiti's Babel. Returns
 * undefined for modules that Babel must handle: those with features beyond CommonJS, and those with syntax errors,
 * which Babel reports.
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
  // Packages must be loaded by `import`, which returns the same instances that other code has.
  return { code: async === true ? code.replaceAll("require(", IMPORT) : code };
}

/** First characters of an import in code that jiti runs. */
const IMPORT = "await jitiImport(";

function hasMistakes(file: compiler.SourceFile): boolean {
  const { parseDiagnostics } = file as { readonly parseDiagnostics?: readonly unknown[] };
  return parseDiagnostics === undefined || parseDiagnostics.length > 0;
}

/** Returns the compiler's output for a module; undefined if the module has syntax errors. */
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
