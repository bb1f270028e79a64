import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import { checkPackages, checkServices } from "./check-services.js";
import type { Diagnostic } from "./diagnostics.js";
import type { FileModel } from "./model.js";
import { type DocumentInfo, printOpenApi, jsonWarnings } from "./docs/openapi.js";
import { printMarkdown } from "./docs/markdown.js";
import { importExtensionOf } from "./import-extension.js";
import { declarationOrder, type IdAssigner, lockedIds } from "./lock/ids.js";
import { EMPTY_LOCK, formatLock, type Lock } from "./lock/lock.js";
import { readLock } from "./lock/read.js";
import { updateLock, updateSnapshot } from "./lock/update.js";
import { ModuleLoader } from "./load.js";
import { buildPackages, packageOf, sharedFileOf } from "./packages.js";
import { printCodecs, printSharedCodecs } from "./print/codecs.js";
import { printFile, printShared } from "./print/file.js";
import type { ImportExtension } from "./print/imports.js";
import { codecsFileOf, protobufFileOf, toolingFileOf } from "./print/paths.js";
import { isClient, type Target } from "./print/service.js";
import { findStale } from "./prune.js";
import { printTooling } from "./print/tooling.js";
import type { ProtoOutput } from "./proto/build.js";
import { type SchemaSnapshot, type ServiceSnapshot, SNAPSHOT_VERSION } from "./shape/shape.js";
import { formatSnapshot, parseSnapshot } from "./shape/snapshot.js";
import { SourceReader } from "./source/source-file.js";
import { openModule, type SchemaModule } from "./survey.js";
import { TsConfigs } from "./tsconfig.js";

/** Options of `generate`. */
export interface GenerateOptions {
  /** All schema modules of the project. Code that several of them share is generated once. */
  readonly files: readonly string[];
  /** The modules in `files` whose output is requested; the code that they share is generated too. Default: all. */
  readonly only?: readonly string[];
  /** Base directory of relative paths. Default: the current directory. */
  readonly cwd?: string;
  /** Directory for generated files. Default: `generated` next to each schema module. */
  readonly out?: string;
  /** Extension of generated files in imports. Default: determined by the nearest tsconfig.json of a generated file. */
  readonly importExtension?: ImportExtension;
  /** The side for which code is generated. Default: both. */
  readonly target?: Target;
  /**
   * True if codecs explain where and why a message does not match. Otherwise they only refuse it, and messages whose
   * code is completely compiled need no shapes at run time. Default: true.
   */
  readonly explain?: boolean;
  /**
   * True if comments in generated code link to the schema, for which the code imports the schema's types. Only files in
   * the schema's own package have links, because others may be unable to import it. Type-checking generated files then
   * includes the schema's types: with 500 methods this takes eight times as long. Default: true, unless `target` is a
   * client.
   */
  readonly links?: boolean;
  /**
   * Assigns ids to services and methods. Default: ids from the lock file; without one, the hash of a service's name,
   * and the position of a method.
   */
  readonly ids?: IdAssigner;
  /**
   * Path of the lock file, which is created if it does not exist; `quicrpc.schema.json` is stored next to it. Default:
   * no lock file, so that ids may change between runs.
   */
  readonly lock?: string;
  /** File for a Markdown reference of the services. Default: none. */
  readonly docs?: string;
  /** File for an OpenAPI 3.1 document of the services over HTTP, as JSON. Default: none. */
  readonly openapi?: string;
  /** Directory for `.proto` files of the services. Default: none. */
  readonly proto?: string;
  /** Title and version in the generated documents. Default: `Services`, `0.0.0`. */
  readonly info?: DocumentInfo;
  /**
   * True if `files` are all schema modules of the project, so that services which only the lock file contains were
   * removed. Default: false.
   */
  readonly complete?: boolean;
}

const OPTIONS: OptionNames<GenerateOptions> = {
  complete: true,
  cwd: true,
  docs: true,
  explain: true,
  files: true,
  ids: true,
  importExtension: true,
  info: { title: true, version: true },
  links: true,
  lock: true,
  only: true,
  openapi: true,
  out: true,
  proto: true,
  target: true,
};

/** A generated file. */
export interface GeneratedFile {
  /** Absolute path of the file. */
  readonly path: string;
  readonly text: string;
  /** The schema module from which the file was generated; undefined if there are several. */
  readonly schema?: { readonly file: string; readonly services: number; readonly methods: number };
  /** True if the file on disk differs from `text`. */
  readonly changed: boolean;
}

/** Result of `generate`. If there are errors, it contains no files. */
export interface GenerateResult {
  readonly files: readonly GeneratedFile[];
  /**
   * Generated files of earlier runs whose schemas no longer exist. Only found if the run includes all schemas of the
   * project.
   */
  readonly stale: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  /** Possible mistakes, which do not prevent generating. */
  readonly warnings: readonly Diagnostic[];
  /** Files that were loaded: the schema modules and the modules that they import, except packages. */
  readonly sources: readonly string[];
  /** The schemas as a peer sees them, to be compared with another version. */
  readonly snapshot: SchemaSnapshot;
}

/** Name of the file, next to the lock file, that contains the shapes of all messages. */
export const SNAPSHOT_FILE = "quicrpc.schema.json";

/** Generates code and documents from schema modules. Does not write files: `writeGenerated` does. */
export async function generate(options: GenerateOptions): Promise<GenerateResult> {
  checkOptions("generate()", options, OPTIONS);
  const { cwd = process.cwd(), complete = false, target = "both", explain = true } = options;
  const { links = !isClient(target) } = options;
  const diagnostics: Diagnostic[] = [];
  const report = (diagnostic: Diagnostic): void => void diagnostics.push(diagnostic);
  const lockFile = options.lock === undefined ? undefined : resolve(cwd, options.lock);
  const lockText = lockFile === undefined ? undefined : readText(lockFile);
  const lock = lockFile === undefined || lockText === undefined ? EMPTY_LOCK : readLock(lockText, lockFile, report);
  const ids = options.ids ?? (lockFile === undefined || lock === undefined ? declarationOrder : lockedIds(lock));

  const only = new Set((options.only ?? options.files).map((each) => resolve(cwd, each)));
  // Errors in a file that was not requested are ignored, and the file is left out.
  const reportOf = (file: string): typeof report => (only.has(file) ? report : () => {});
  const outputs = outputPaths(options, cwd, only, reportOf);
  const configs = new TsConfigs();
  const { modules, sources } = await openModules([...outputs.keys()], configs, reportOf);
  const outputOf = (schemaFile: string): string => outputs.get(schemaFile) ?? schemaFile;
  const packages = buildPackages(modules, { ids, target, outputOf, reportOf });
  const isWanted = ({ schemaFile }: FileModel): boolean => only.has(schemaFile);
  const models = packages.flatMap((each) => each.models);
  checkServices(models, lock ?? EMPTY_LOCK, isWanted, report);
  const generated = { foreign: target === "http-client", proto: options.proto !== undefined };
  for (const model of models.filter(isWanted)) checkPackages(model, outputOf(model.schemaFile), generated, report);
  const proto =
    options.proto === undefined || diagnostics.length > 0 ? undefined : await protoOf(models, lock, cwd, complete);
  for (const problem of proto?.problems ?? []) report(problem);
  const services = Object.fromEntries(
    models.filter(isWanted).flatMap((model) =>
      model.services.map(({ name, snapshot }) => {
        const shapes = proto?.shapes.get(name);
        return [name, shapes === undefined ? snapshot : { ...snapshot, proto: shapes }];
      }),
    ),
  );
  const snapshot: SchemaSnapshot = { version: SNAPSHOT_VERSION, services };
  const kept =
    lockFile === undefined || lock === undefined
      ? []
      : lockFiles(
          lockFile,
          { ...lock, messages: new Map([...lock.messages, ...(proto?.numbers ?? [])]) },
          services,
          complete,
          report,
        );
  if (diagnostics.length > 0) return { files: [], stale: [], diagnostics, warnings: [], sources, snapshot };

  const out = options.out === undefined ? undefined : resolve(cwd, options.out);
  const extensionOf = (path: string): ImportExtension =>
    options.importExtension ?? importExtensionOf(configs.optionsFor(path));
  const linksFrom = (path: string) => (schemaFile: string) => links && packageOf(path) === packageOf(schemaFile);
  const sharedPaths: string[] = [];
  const files = packages.flatMap(({ models, shared }) => {
    const sharedFile = sharedFileOf(
      models.map(({ schemaFile }) => schemaFile),
      out,
    );
    sharedPaths.push(sharedFile, codecsFileOf(sharedFile));
    const wanted = models.filter(isWanted);
    const printed = wanted.flatMap((model): GeneratedFile[] => {
      const path = outputOf(model.schemaFile);
      const methods = model.services.reduce((sum, service) => sum + service.methods.length, 0);
      const schema = { file: model.schemaFile, services: model.services.length, methods };
      // Descriptions for tools are only generated for servers, which use them for reflection.
      const toolingFile = isClient(target) || methods === 0 ? undefined : toolingFileOf(path);
      const extension = extensionOf(path);
      const linksTo = linksFrom(path);
      const print = { extension, target, outputOf, toolingFile, sharedFile, linksTo };
      return [
        { ...outputFile(path, printFile(model, path, print)), schema },
        ...(model.codecs.isEmpty
          ? []
          : [outputFile(codecsFileOf(path), printCodecs(model, path, sharedFile, extension, explain))]),
        ...(toolingFile === undefined ? [] : [outputFile(toolingFile, printTooling(model))]),
        ...(proto === undefined ? [] : [outputFile(protobufFileOf(path), proto.codecsOf(model))]),
      ];
    });
    if (wanted.every(({ sharedTypes }) => sharedTypes.length === 0)) return printed;
    const extension = extensionOf(sharedFile);
    return [
      outputFile(sharedFile, printShared(shared, sharedFile, extension, linksFrom(sharedFile))),
      ...(shared.codecs.isEmpty
        ? []
        : [outputFile(codecsFileOf(sharedFile), printSharedCodecs(shared, sharedFile, extension, explain))]),
      ...printed,
    ];
  });
  const { info = { title: "Services", version: "0.0.0" } } = options;
  const protoPath = (path: string): string => resolve(cwd, options.proto ?? "", path);
  const documents = [
    ...(options.docs === undefined
      ? []
      : [outputFile(resolve(cwd, options.docs), printMarkdown(packages, info.title))]),
    ...(options.openapi === undefined ? [] : [outputFile(resolve(cwd, options.openapi), printOpenApi(models, info))]),
    ...Array.from(proto?.files ?? [], ([path, text]) => outputFile(protoPath(path), text)),
  ];
  return {
    files: [...files, ...kept, ...documents],
    stale: complete ? findStale(files, [...sharedPaths, ...(proto?.gone ?? []).map(protoPath)]) : [],
    diagnostics,
    warnings: [
      ...models
        .filter(isWanted)
        .flatMap((model) => [...model.warnings, ...(options.openapi === undefined ? [] : jsonWarnings([model]))]),
      ...(proto?.warnings ?? []),
    ],
    sources,
    snapshot,
  };
}

/** Generates the `.proto` files. The code for that is loaded only if they are requested. */
async function protoOf(
  models: readonly FileModel[],
  lock: Lock | undefined,
  cwd: string,
  complete: boolean,
): Promise<ProtoOutput> {
  const { buildProto } = await import("./proto/build.js");
  const nameOfFile = (file: string): string => relative(cwd, file).replaceAll("\\", "/");
  return buildProto(models, lock?.messages ?? EMPTY_LOCK.messages, nameOfFile, complete);
}

/**
 * Returns the output path of each schema module. If two modules have the same path, modules in `first` have precedence.
 */
function outputPaths(
  { files, out }: GenerateOptions,
  cwd: string,
  first: ReadonlySet<string>,
  reportOf: (file: string) => (diagnostic: Diagnostic) => void,
): Map<string, string> {
  const paths = new Map<string, string>();
  const taken = new Map<string, string>();
  const all = [...new Set(files.map((each) => resolve(cwd, each)))];
  for (const file of [...all.filter((each) => first.has(each)), ...all.filter((each) => !first.has(each))]) {
    const report = reportOf(file);
    if (!existsSync(file)) {
      report({ code: "file-not-found", file, message: "There is no such file.", help: "Check the path." });
      continue;
    }
    const directory = out === undefined ? join(dirname(file), "generated") : resolve(cwd, out);
    const path = join(directory, outputName(file));
    const written = [path, codecsFileOf(path), toolingFileOf(path), protobufFileOf(path)];
    const other = written.map((each) => taken.get(each)).find((each) => each !== undefined);
    if (other !== undefined || path === file) {
      report({
        code: "output-clash",
        file,
        message:
          other === undefined
            ? "The output would replace the schema."
            : `${other} is generated to the same files, ${path} and those beside it.`,
        help: "Use another --out, or rename the schema file.",
      });
      continue;
    }
    for (const each of written) taken.set(each, file);
    paths.set(file, path);
  }
  // The result is in the order of the files, which determines the ids.
  return new Map(
    all.flatMap((file) => {
      const path = paths.get(file);
      return path === undefined ? [] : [[file, path] as const];
    }),
  );
}

async function openModules(
  files: readonly string[],
  configs: TsConfigs,
  reportOf: (file: string) => (diagnostic: Diagnostic) => void,
): Promise<{ readonly modules: SchemaModule[]; readonly sources: readonly string[] }> {
  const reader = new SourceReader(configs);
  const loader = new ModuleLoader(reader.parse);
  const modules: SchemaModule[] = [];
  for (const file of files) {
    const module = await openModule(file, loader, reader, reportOf(file));
    if (module !== undefined) modules.push(module);
  }
  const { sources } = loader;
  loader.dispose();
  return { modules, sources };
}

/** Returns the name of the generated file for a schema module: `arith.ts` for `arith.service.ts`. */
function outputName(file: string): string {
  return `${basename(file).replace(/(\.service)?\.[cm]?[jt]sx?$/, "")}.ts`;
}

function lockFiles(
  path: string,
  lock: Lock,
  services: Readonly<Record<string, ServiceSnapshot>>,
  complete: boolean,
  report: (diagnostic: Diagnostic) => void,
): GeneratedFile[] {
  const snapshotPath = join(dirname(path), SNAPSHOT_FILE);
  const snapshot = updateSnapshot(complete ? undefined : readSnapshot(snapshotPath, report), services, complete);
  return [
    outputFile(path, formatLock(updateLock(lock, services, complete))),
    outputFile(snapshotPath, formatSnapshot(snapshot)),
  ];
}

/** Reads the snapshot of earlier runs. It also contains services whose schema modules are not part of this run. */
function readSnapshot(path: string, report: (diagnostic: Diagnostic) => void): SchemaSnapshot | undefined {
  const text = readText(path);
  if (text === undefined) return undefined;
  try {
    return parseSnapshot(text);
  } catch (error) {
    report({
      file: path,
      code: "snapshot-invalid",
      message: `The shapes of the services cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
      help: "Run quicrpc gen without file names: it makes the file anew from all schemas.",
    });
    return undefined;
  }
}

/**
 * Creates a generated file. Ignores line endings when it compares contents, because version control changes them on
 * Windows.
 */
function outputFile(path: string, text: string): GeneratedFile {
  return { path, text, changed: readText(path)?.replaceAll("\r\n", "\n") !== text };
}

function readText(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}
