import { namesOf } from "../codec/plan.js";
import type { CodecNames } from "../codec/printer.js";
import type { FileModel } from "../model.js";
import type { SchemaRoot } from "../source/schema-root.js";
import { errorTypeName, generatedNames, GLOBAL_TYPES, pascalCase } from "../names.js";
import { plainNames, referenceName, schemaExpression } from "../types/node.js";
import { CORE_IMPORTS, coreImport } from "./core-imports.js";
import type { Imports } from "./imports.js";

/** Files that a generated file imports. Undefined if the file itself contains the declarations. */
interface Places {
  readonly types?: string;
  readonly sharedTypes?: string;
  readonly sharedCodecs?: string;
  readonly linksTo?: (schemaFile: string) => boolean;
}

/** Name of an alias of the type `any`, in generated files that are linted. */
export const ANY: string = "Any";

/** Provides the names of imports in a generated file, and records which are used. */
export class FileNames implements CodecNames {
  readonly #imports: Imports;
  readonly #places: Places;
  readonly #any: string | undefined;
  readonly #declared: ReadonlySet<string>;
  /** Names of `@quicrpc/core/generated` that are used, with their names in this file. */
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

  /** Import declarations for the used names of `@quicrpc/core/generated`. */
  get coreImport(): string {
    return coreImport(this.#core);
  }

  core: CodecNames["core"] = (name) => {
    const local = this.#declared.has(name) ? `${/^[a-z]/.test(name) ? "core" : "Core"}${pascalCase(name)}` : name;
    this.#core.set(name, local);
    return local;
  };

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

/**
 * Returns the names that imports of a service's file and the files next to it must not have, because these files
 * declare or use them.
 */
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
