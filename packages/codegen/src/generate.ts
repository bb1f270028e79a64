import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { buildFile } from "./build.js";
import { type Diagnostic, placeOf } from "./diagnostics.js";
import { declarationOrder, type IdAssigner } from "./ids.js";
import { importExtensionFor } from "./import-extension.js";
import type { FileModel, ServiceModel } from "./model.js";
import { type ImportExtension, printFile } from "./print/file.js";

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
  /** Default: services by the hash of their name, methods by their order. */
  readonly ids?: IdAssigner;
}

/** One generated file. */
export interface GeneratedFile {
  /** Where it goes: an absolute path. */
  readonly path: string;
  readonly text: string;
  /** The schema module it is made from. */
  readonly schemaFile: string;
  readonly services: number;
  readonly methods: number;
  /** Whether `path` has other content than `text` now. */
  readonly changed: boolean;
}

/** What a run made. When there are diagnostics there are no files: it is all or nothing. */
export interface GenerateResult {
  readonly files: readonly GeneratedFile[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Makes the generated files for schema modules. Nothing is written: see `writeGenerated`. */
export async function generate(options: GenerateOptions): Promise<GenerateResult> {
  const { cwd = process.cwd(), out, ids = declarationOrder } = options;
  const diagnostics: Diagnostic[] = [];
  const report = (diagnostic: Diagnostic): void => void diagnostics.push(diagnostic);
  const models: { readonly model: FileModel; readonly path: string }[] = [];
  const outputs = new Map<string, string>();
  for (const given of new Set(options.files.map((file) => resolve(cwd, file)))) {
    if (!existsSync(given)) {
      report({ code: "file-not-found", file: given, message: "There is no such file.", help: "Check the path." });
      continue;
    }
    const directory = out === undefined ? join(dirname(given), "generated") : resolve(cwd, out);
    const path = join(directory, outputName(given));
    const other = outputs.get(path);
    if (other !== undefined || path === given) {
      report({
        code: "output-clash",
        file: given,
        message: other === undefined ? "The output would replace the schema." : `${other} is generated to ${path} too.`,
        help: "Use another --out, or rename the schema file.",
      });
      continue;
    }
    outputs.set(path, given);
    const model = await buildFile(given, ids, report);
    if (model !== undefined) models.push({ model, path });
  }
  checkServices(
    models.flatMap(({ model }) => model.services.map((service) => ({ service, file: model.schemaFile }))),
    report,
  );
  if (diagnostics.length > 0) return { files: [], diagnostics };
  const files = models.map(({ model, path }): GeneratedFile => {
    const text = printFile(model, path, options.importExtension ?? importExtensionFor(path));
    return {
      path,
      text,
      schemaFile: model.schemaFile,
      services: model.services.length,
      methods: model.services.reduce((sum, service) => sum + service.methods.length, 0),
      changed: !existsSync(path) || readFileSync(path, "utf8") !== text,
    };
  });
  return { files, diagnostics };
}

/** `arith.service.ts` to `arith.ts`. */
function outputName(file: string): string {
  return `${basename(file).replace(/(\.service)?\.[cm]?[jt]sx?$/, "")}.ts`;
}

/** Services that the peer could not tell apart. */
function checkServices(
  all: readonly { readonly service: ServiceModel; readonly file: string }[],
  report: (diagnostic: Diagnostic) => void,
): void {
  const names = new Set<string>();
  const ids = new Map<number, string>();
  for (const { service, file } of all) {
    const { name, id, node } = service;
    const at = node === undefined ? { file } : placeOf(node);
    const other = ids.get(id);
    if (names.has(name)) {
      report({
        ...at,
        code: "duplicate-service",
        message: `There is another service ${name}.`,
        help: "Give one of them another name or version.",
        service: name,
      });
    } else if (other !== undefined) {
      report({
        ...at,
        code: "service-id-clash",
        message: `${name} and ${other} have the same id, ${id}, which is a hash of the name.`,
        help: "Give one of them another name.",
        service: name,
      });
    }
    names.add(name);
    ids.set(id, name);
  }
}
