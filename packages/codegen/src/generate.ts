import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { buildFile } from "./build.js";
import { checkServices } from "./check-services.js";
import type { Diagnostic } from "./diagnostics.js";
import { importExtensionFor } from "./import-extension.js";
import { declarationOrder, type IdAssigner, lockedIds } from "./lock/ids.js";
import { EMPTY_LOCK, formatLock, type Lock } from "./lock/lock.js";
import { readLock } from "./lock/read.js";
import { updateLock, updateSnapshot } from "./lock/update.js";
import type { FileModel } from "./model.js";
import { type ImportExtension, printFile } from "./print/file.js";
import type { Target } from "./print/service.js";
import type { SchemaSnapshot, ServiceSnapshot } from "./shape/shape.js";
import { formatSnapshot, parseSnapshot } from "./shape/snapshot.js";

/** Options of `generate`. */
export interface GenerateOptions {
  /** Schema modules. */
  readonly files: readonly string[];
  /** What relative paths start from. Default: the current directory. */
  readonly cwd?: string;
  /** Where generated files go. Default: `generated` beside each schema module. */
  readonly out?: string;
  /** Default: what the nearest tsconfig.json of a generated file asks for. */
  readonly importExtension?: ImportExtension;
  /** Which side the files are for. Default: both. */
  readonly target?: Target;
  /** Default: what the lock says; without one, services by the hash of their name, methods by their order. */
  readonly ids?: IdAssigner;
  /** The lock file, which need not exist yet; `quicrpc.schema.json` stands beside it. Default: none, ids are not kept. */
  readonly lock?: string;
  /** `files` are all of the project's: services that are in the lock only are gone. Default false. */
  readonly complete?: boolean;
}

/** One generated file. */
export interface GeneratedFile {
  /** Where it goes: an absolute path. */
  readonly path: string;
  readonly text: string;
  /** What it is made from, where that is one schema module. */
  readonly schema?: { readonly file: string; readonly services: number; readonly methods: number };
  /** Whether `path` has other content than `text` now. */
  readonly changed: boolean;
}

/** What a run made. When there are diagnostics there are no files: it is all or nothing. */
export interface GenerateResult {
  readonly files: readonly GeneratedFile[];
  readonly diagnostics: readonly Diagnostic[];
  /** What the schemas look like to a peer, to be compared with another version. */
  readonly snapshot: SchemaSnapshot;
}

/** The name of the file beside the lock that has the shapes of all messages. */
export const SNAPSHOT_FILE = "quicrpc.schema.json";

/** Makes the generated files for schema modules. Nothing is written: see `writeGenerated`. */
export async function generate(options: GenerateOptions): Promise<GenerateResult> {
  const { cwd = process.cwd(), complete = false, target = "both" } = options;
  const diagnostics: Diagnostic[] = [];
  const report = (diagnostic: Diagnostic): void => void diagnostics.push(diagnostic);
  const lockFile = options.lock === undefined ? undefined : resolve(cwd, options.lock);
  const lock = lockFile === undefined ? EMPTY_LOCK : readLock(readText(lockFile) ?? "", lockFile, report);
  const ids = options.ids ?? (lockFile === undefined || lock === undefined ? declarationOrder : lockedIds(lock));

  const models: { readonly model: FileModel; readonly path: string }[] = [];
  const outputs = new Map<string, string>();
  for (const given of new Set(options.files.map((file) => resolve(cwd, file)))) {
    const path = outputPath(given, options.out, cwd, outputs, report);
    if (path === undefined) continue;
    const model = await buildFile(given, ids, report);
    if (model !== undefined) models.push({ model, path });
  }
  checkServices(
    models.map(({ model }) => model),
    lock ?? EMPTY_LOCK,
    report,
  );
  const services = Object.fromEntries(
    models.flatMap(({ model }) => model.services.map(({ name, snapshot }) => [name, snapshot])),
  );
  const snapshot: SchemaSnapshot = { version: 1, services };
  if (diagnostics.length > 0) return { files: [], diagnostics, snapshot };

  const files = models.map(({ model, path }): GeneratedFile => {
    const methods = model.services.reduce((sum, service) => sum + service.methods.length, 0);
    return {
      ...outputFile(path, printFile(model, path, options.importExtension ?? importExtensionFor(path), target)),
      schema: { file: model.schemaFile, services: model.services.length, methods },
    };
  });
  const kept = lockFile === undefined || lock === undefined ? [] : lockFiles(lockFile, lock, services, complete);
  return { files: [...files, ...kept], diagnostics, snapshot };
}

/** Where the output for the schema module `file` goes; undefined when that was reported to be impossible. */
function outputPath(
  file: string,
  out: string | undefined,
  cwd: string,
  outputs: Map<string, string>,
  report: (diagnostic: Diagnostic) => void,
): string | undefined {
  if (!existsSync(file)) {
    report({ code: "file-not-found", file, message: "There is no such file.", help: "Check the path." });
    return undefined;
  }
  const directory = out === undefined ? join(dirname(file), "generated") : resolve(cwd, out);
  const path = join(directory, outputName(file));
  const other = outputs.get(path);
  if (other !== undefined || path === file) {
    report({
      code: "output-clash",
      file,
      message: other === undefined ? "The output would replace the schema." : `${other} is generated to ${path} too.`,
      help: "Use another --out, or rename the schema file.",
    });
    return undefined;
  }
  outputs.set(path, file);
  return path;
}

/** `arith.service.ts` to `arith.ts`. */
function outputName(file: string): string {
  return `${basename(file).replace(/(\.service)?\.[cm]?[jt]sx?$/, "")}.ts`;
}

/** The lock and the snapshot beside it. */
function lockFiles(
  path: string,
  lock: Lock,
  services: Readonly<Record<string, ServiceSnapshot>>,
  complete: boolean,
): GeneratedFile[] {
  const snapshotPath = join(dirname(path), SNAPSHOT_FILE);
  const snapshot = updateSnapshot(readSnapshot(snapshotPath), services, complete);
  return [
    outputFile(path, formatLock(updateLock(lock, services, complete))),
    outputFile(snapshotPath, formatSnapshot(snapshot)),
  ];
}

/** The snapshot that is there; it is made anew from the schemas where it cannot be read. */
function readSnapshot(path: string): SchemaSnapshot | undefined {
  try {
    return parseSnapshot(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

function outputFile(path: string, text: string): GeneratedFile {
  return { path, text, changed: readText(path) !== text };
}

function readText(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}
