import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { buildFile } from "./build.js";
import { withSchema } from "./failing-schema.js";
import type { Diagnostic } from "./diagnostics.js";
import type { IdAssigner } from "./lock/ids.js";
import type { FileModel, Reexport } from "./model.js";
import type { Target } from "./print/service.js";
import { SharedModule } from "./shared.js";
import { emptyAnnotations } from "./source/annotate.js";
import { type SchemaModule, type Survey, survey } from "./survey.js";

/** The files of one package, including what several of them share. */
export interface PackageModel {
  readonly models: readonly FileModel[];
  readonly shared: SharedModule;
}

/** Inputs of building, in addition to the schema modules. */
interface BuildOptions {
  readonly ids: IdAssigner;
  readonly target: Target;
  /** Returns the output path of a schema module. Files of one package can import one another; others cannot. */
  readonly outputOf: (schemaFile: string) => string;
  /** Returns the receiver of errors in a schema module. */
  readonly reportOf: (schemaFile: string) => (diagnostic: Diagnostic) => void;
}

/** Builds the models of the files for `modules`, for one package at a time. */
export function buildPackages(modules: readonly SchemaModule[], options: BuildOptions): PackageModel[] {
  const { ids, target, outputOf, reportOf } = options;
  const owners = ownersOf(modules);
  const annotations = emptyAnnotations();
  const packages = new Map<string, { readonly module: SchemaModule; readonly survey: Survey }[]>();
  for (const module of modules) {
    const own = module.services.filter(({ schema }) => owners.get(schema)?.module === module);
    const found = survey(module, own, annotations, reportOf(module.file));
    if (found === undefined) continue;
    const root = packageOf(outputOf(module.file));
    const members = packages.get(root) ?? [];
    packages.set(root, [...members, { module, survey: found }]);
  }
  return [...packages.values()].map((members): PackageModel => {
    const shared = new SharedModule(
      members.map((each) => each.survey),
      annotations,
    );
    const models = members.flatMap(({ module, survey }): FileModel[] => {
      const { file } = module;
      const report = reportOf(file);
      const context = { shared, annotations, ids, target, report };
      const model = withSchema({ file, node: undefined }, report, () =>
        buildFile(survey, reexportsOf(module, owners), context),
      );
      return model === undefined ? [] : [model];
    });
    return { models, shared };
  });
}

interface Owner {
  readonly module: SchemaModule;
  readonly prefix: string;
}

/** Returns the module that owns each service: the one that declares it, or the first that exports it. */
function ownersOf(modules: readonly SchemaModule[]): Map<unknown, Owner> {
  const owners = new Map<unknown, Owner>();
  for (const module of modules) {
    for (const { schema, prefix, declaredIn } of module.services) {
      if (declaredIn === module.file || !owners.has(schema)) owners.set(schema, { module, prefix });
    }
  }
  return owners;
}

/** Returns the services that `module` exports but that are generated from others. */
function reexportsOf(module: SchemaModule, owners: ReadonlyMap<unknown, Owner>): Reexport[] {
  return module.services.flatMap(({ schema, prefix, methods }) => {
    const topics = methods.some(({ topic }) => topic !== undefined);
    const owner = owners.get(schema);
    return owner === undefined || owner.module === module
      ? []
      : [{ schemaFile: owner.module.file, from: owner.prefix, to: prefix, topics }];
  });
}

/** Returns the package directory of a file: the nearest one with a package.json, or the file's own directory. */
export function packageOf(file: string): string {
  for (let directory = dirname(file); ; directory = dirname(directory)) {
    if (existsSync(join(directory, "package.json"))) return directory;
    if (directory === dirname(directory)) return dirname(file);
  }
}

/** Returns the path of the file that a package's files share: next to them, or in their closest common directory. */
export function sharedFileOf(schemaFiles: readonly string[], out: string | undefined): string {
  const directory = out ?? join(commonDirectory(schemaFiles.map((file) => dirname(file))), "generated");
  return join(directory, "_shared.ts");
}

function commonDirectory(directories: readonly string[]): string {
  const [first = "."] = directories;
  return directories.reduce((common, each) => {
    let directory = common;
    while (relative(directory, each).startsWith("..")) directory = dirname(directory);
    return directory;
  }, resolve(first));
}
