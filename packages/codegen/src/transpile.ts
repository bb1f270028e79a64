import { SourceMap, type SourceMapPayload } from "node:module";
import { extname } from "node:path";
import type { JitiOptions } from "jiti";
import type { ts as compiler } from "ts-morph";
import { plainModule } from "./plain-module.js";
import { ts } from "./source/compiler.js";

type Transform = NonNullable<JitiOptions["transform"]>;

/** Syntax that has, or may have, a different meaning in a CommonJS module. Such modules are left to jiti's own transform. */
const BEYOND_COMMONJS = /\bimport\s*[.(]|\b(?:await|require|exports)\b/;

const OPTIONS: compiler.CompilerOptions = {
  module: ts.ModuleKind.CommonJS,
  target: ts.ScriptTarget.ES2022,
  // jiti's imports are already namespaces.
  esModuleInterop: false,
  isolatedModules: true,
  noResolve: true,
  noLib: true,
  // The user's compiler checks the types; here it would take too long.
  noCheck: true,
  removeComments: true,
  experimentalDecorators: true,
};

/** Parses a module, and may share the result with other readers. */
export type Parse = (file: string, source: string) => compiler.SourceFile;

const parseAlone: Parse = (file, source) => ts.createSourceFile(file, source, ts.ScriptTarget.ES2022, false);

/** Sources of the last transpiled modules, by file. */
const sources = new Map<string, string>();
/** Files that were not transpiled. Each of their lines is one further down. */
const plainFiles = new Set<string>();

/** Returns the line and column (from 1) in the source for those in a stack trace. */
export function sourcePosition(file: string, line: number, column: number): readonly [line: number, column: number] {
  if (plainFiles.has(file)) return [line - 1, column];
  const source = sources.get(file);
  // Source maps are expensive and errors are rare, so a map is created on demand.
  const map = source === undefined ? undefined : emit(file, parseAlone(file, source), true)?.map;
  if (map === undefined) return [line, column];
  const found = new SourceMap(JSON.parse(map) as SourceMapPayload).findEntry(line - 1, column - 1);
  return "originalLine" in found ? [found.originalLine + 1, found.originalColumn + 1] : [line, column];
}

/**
 * Converts TypeScript to CommonJS with the compiler, which is loaded anyway and much faster than jiti's Babel. Returns
 * undefined for modules that Babel has to handle: those that use features beyond CommonJS, and those with syntax
 * errors, which Babel reports.
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
  // Only `import` returns the same instances of packages that other code has.
  return { code: async === true ? code.replaceAll("require(", IMPORT) : code };
}

/** First part of an import in code that jiti runs. */
const IMPORT = "await jitiImport(";

/** Returns true if the parser found a syntax error. */
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
