import { namesOf } from "../codec/plan.js";
import type { CodecNames } from "../codec/printer.js";
import type { FileModel } from "../model.js";
import type { SchemaRoot } from "../source/schema-root.js";
import { errorTypeName, generatedNames, GLOBAL_TYPES, pascalCase } from "../names.js";
import { plainNames, referenceName, schemaExpression } from "../types/node.js";
import { CORE_IMPORTS, coreImport } from "./core-imports.js";
import type { Imports } from "./imports.js";

/** Files that a generated file imports; undefined for its own declarations. */
interface Places {
  /** File with the types of its own schema module. */
  readonly types?: string;
  /** File with types and codecs that several files share. */
  readonly sharedTypes?: string;
  readonly sharedCodecs?: string;
  /** Returns true if comments may link to a schema module. */
  readonly linksTo?: (schemaFile: string) => boolean;
}

/** Name of the `any` type in files that are linted. */
export const ANY: string = "Any";

/** The names of imports in a generated file. Each use of a name is recorded. */
export class FileNames implements CodecNames {
  readonly #imports: Imports;
  readonly #places: Places;
  readonly #any: string | undefined;
  readonly #declared: ReadonlySet<string>;
  /** Used names of `@quicrpc/core/generated`, with their names in this file. */
  readonly #core = new Map<string, string>();
  #usesZod = false;

  /** @param declared names that the file declares for its services */
  constructor(imports: Imports, places: Places, any?: string, declared: ReadonlySet<string> = new Set()) {
    this.#imports = imports;
    this.#places = places;
    this.#any = any;
    this.#declared = declared;
  }

  get any(): string | undefined {
    return this.#any && this.core(this.#any);
  }

  /** The import of the used names of `@quicrpc/core/generated`. */
  get coreImport(): string {
    return coreImport(this.#core);
  }

  core: CodecNames["core"] = (name) => {
    const local = this.#declared.has(name) ? `${/^[a-z]/.test(name) ? "core" : "Core"}${pascalCase(name)}` : name;
    this.#core.set(name, local);
    return local;
  };

  /** The import of zod, if it is used. */
  get zodImport(): string {
    return this.#usesZod ? 'import type { z } from "zod";\n' : "";
  }

  schema: CodecNames["schema"] = (helper, root, access) => {
    this.#usesZod = true;
    return `z.${helper}<${schemaExpression(this.#imports.schema(root, false), access)}>`;
  };

  brand: CodecNames["brand"] = (names) => {
    this.#usesZod = true;
    return plainNames.brand(names);
  };

  link = (root: SchemaRoot): string | undefined =>
    this.#places.linksTo?.(root.file) === true ? this.#imports.linked(root) : undefined;

  named: CodecNames["named"] = (target, direction) => {
    const name = referenceName(target, direction);
    this.#import(target.isShared ? this.#places.sharedTypes : this.#places.types, name, false);
    return name;
  };

  value: CodecNames["value"] = (root) => this.#imports.schema(root, true);

  shared: CodecNames["shared"] = (name) => {
    this.#import(this.#places.sharedCodecs, name, true);
    return name;
  };

  #import(place: string | undefined, name: string, value: boolean): void {
    if (place !== undefined) this.#imports.add(this.#imports.specifierOf(place), name, value);
  }
}

/** Returns names that imports must not use: those that a service file and its companions declare, and those that they use by name. */
export function takenNames(model: Pick<FileModel, "declarations"> & Partial<FileModel>): ReadonlySet<string> {
  const { declarations, sharedTypes = [], services = [], codecs } = model;
  const prefixes = new Set(services.map(({ prefix }) => prefix));
  for (const { exportName } of services) prefixes.delete(exportName);
  return new Set([
    ...prefixes,
    ...sharedTypes,
    ...declarations.map(({ name }) => name),
    ...services.flatMap(({ prefix, methods }) => [
      ...generatedNames(prefix),
      ...methods.map(({ name }) => errorTypeName(prefix, name)),
    ]),
    ...[...(codecs?.named.values() ?? [])].flatMap((codec) => Object.values(namesOf(codec))),
    ...CORE_IMPORTS,
    ...GLOBAL_TYPES,
    "z",
  ]);
}
