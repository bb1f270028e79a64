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

export interface PackageModel {
  readonly models: readonly FileModel[];
  readonly shared: SharedModule;
}

interface BuildOptions {
  readonly ids: IdAssigner;
  readonly target: Target;
  /**
   * Returns the path of the file that is generated from a schema module. Only files of the same package can import one
   * another.
   */
  readonly outputOf: (schemaFile: string) => string;
  readonly reportOf: (schemaFile: string) => (diagnostic: Diagnostic) => void;
}

/** Builds the models of the files to generate from `modules`, grouped by package. */
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

/**
 * Returns for each service the module from which it is generated: the one that declares it, otherwise the first that
 * exports it.
 */
function ownersOf(modules: readonly SchemaModule[]): Map<unknown, Owner> {
  const owners = new Map<unknown, Owner>();
  for (const module of modules) {
    for (const { schema, prefix, declaredIn } of module.services) {
      if (declaredIn === module.file || !owners.has(schema)) owners.set(schema, { module, prefix });
    }
  }
  return owners;
}

function reexportsOf(module: SchemaModule, owners: ReadonlyMap<unknown, Owner>): Reexport[] {
  return module.services.flatMap(({ schema, prefix, methods }) => {
    const topics = methods.some(({ topic }) => topic !== undefined);
    const owner = owners.get(schema);
    return owner === undefined || owner.module === module
      ? []
      : [{ schemaFile: owner.module.file, from: owner.prefix, to: prefix, topics }];
  });
}

/**
 * Returns the directory of the package that a file belongs to: the nearest one with a package.json, otherwise the
 * file's own directory.
 */
export function packageOf(file: string): string {
  for (let directory = dirname(file); ; directory = dirname(directory)) {
    if (existsSync(join(directory, "package.json"))) return directory;
    if (directory === dirname(directory)) return dirname(file);
  }
}

/**
 * Returns the path of the shared module of a package: in the directory `out` or, if there is none, in `generated` in
 * the closest common directory of the schema modules.
 */
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
