import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import { checkPackages, checkServices } from "./check-services.js";
import type { Diagnostic } from "./diagnostics.js";
import type { FileModel } from "./model.js";
import { type DocumentInfo, printOpenApi, withoutJson } from "./docs/openapi.js";
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
  /** All schema modules of the project, so that shared code is generated once. */
  readonly files: readonly string[];
  /** The modules of `files` whose output is requested, including what they share. Default: all. */
  readonly only?: readonly string[];
  /** Base directory of relative paths. Default: the current directory. */
  readonly cwd?: string;
  /** Output directory. Default: `generated` next to each schema module. */
  readonly out?: string;
  /** How imports name modules. Default: determined by the nearest tsconfig.json of a generated file. */
  readonly importExtension?: ImportExtension;
  /** The side for which code is generated. Default: both. */
  readonly target?: Target;
  /**
   * Whether codecs explain where and why a message does not match. Otherwise they only refuse it, and completely
   * compiled messages need no shapes at run time. Default true.
   */
  readonly explain?: boolean;
  /**
   * Whether comments of generated code link to the schema, by importing its types. Only files in the schema's own
   * package have links, because others may be unable to import it. Type-checking generated files then includes the
   * schema's types: with 500 methods this takes eight times as long. Default: true, unless `target` is a client.
   */
  readonly links?: boolean;
  /** Assigns ids. Default: from the lock file; without one, the hash of a service's name, and methods in their order. */
  readonly ids?: IdAssigner;
  /** The lock file, which need not exist yet; `quicrpc.schema.json` is stored next to it. Default: none, so ids are not kept. */
  readonly lock?: string;
  /** File for a Markdown reference of the services. Default: none. */
  readonly docs?: string;
  /** File for an OpenAPI 3.1 document of the services over HTTP, as JSON. Default: none. */
  readonly openapi?: string;
  /** Directory for `.proto` files of the services. Default: none. */
  readonly proto?: string;
  /** Title and version in the documents. Default: `Services`, `0.0.0`. */
  readonly info?: DocumentInfo;
  /** Whether `files` are all files of the project, so that other services in the lock file were removed. Default false. */
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
  /** The schema module from which it was generated, if there is exactly one. */
  readonly schema?: { readonly file: string; readonly services: number; readonly methods: number };
  /** Whether the file's current content differs from `text`. */
  readonly changed: boolean;
}

/** The result of a run. If there are diagnostics, there are no files. */
export interface GenerateResult {
  readonly files: readonly GeneratedFile[];
  /** Files of earlier runs whose schemas are gone. Only determined if the run includes all schemas of the project. */
  readonly stale: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  /** Findings that do not stop the run but may be mistakes. */
  readonly warnings: readonly Diagnostic[];
  /** Files that were loaded: the schema modules and their imports, except packages. */
  readonly sources: readonly string[];
  /** The schemas as a peer sees them, for comparison with another version. */
  readonly snapshot: SchemaSnapshot;
}

/** Name of the file next to the lock file that contains the shapes of all messages. */
export const SNAPSHOT_FILE = "quicrpc.schema.json";

/** Generates files from schema modules. Nothing is written: see `writeGenerated`. */
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
  // Mistakes in a file that was not requested stop nothing: the file is left out.
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
      // Only servers support reflection.
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
        .flatMap((model) => [...model.warnings, ...(options.openapi === undefined ? [] : withoutJson([model]))]),
      ...(proto?.warnings ?? []),
    ],
    sources,
    snapshot,
  };
}

/** Makes the `.proto` files. Their code is loaded only if they are requested. */
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

/** Returns the output path of each schema module, if possible. If two collide, those of `first` have precedence. */
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
  // In the order of the files, which determines the ids.
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

/** Converts a name such as `arith.service.ts` to `arith.ts`. */
function outputName(file: string): string {
  return `${basename(file).replace(/(\.service)?\.[cm]?[jt]sx?$/, "")}.ts`;
}

/** Returns the lock file and the snapshot next to it. */
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

/** Reads the existing snapshot. It contains the services of schema modules that are not part of this run. */
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

/** Line endings are ignored when contents are compared, because version control changes them on Windows. */
function outputFile(path: string, text: string): GeneratedFile {
  return { path, text, changed: readText(path)?.replaceAll("\r\n", "\n") !== text };
}

function readText(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}
