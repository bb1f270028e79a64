import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import protobuf from "protobufjs";
import type { Diagnostic } from "../diagnostics.js";
import type { GeneratedFile } from "../generate.js";
import { importExtensionOf } from "../import-extension.js";
import { Imports } from "../print/imports.js";
import { TsConfigs } from "../tsconfig.js";
import { knownName } from "./fields.js";
import { loadProtos, placeOf } from "./load.js";
import { type Declaration, freeName, ModulePrinter, pathOf, reasonToOmit } from "./module.js";

/** Options of `importProtos`. */
export interface ImportOptions {
  /** Paths of `.proto` files. */
  readonly files: readonly string[];
  /** Folders in which imports of the files are searched. Default: the folders of the files. */
  readonly folders?: readonly string[];
  /** Folder of the modules. Default: `cwd`. */
  readonly out?: string;
  /** Extension in imports of other modules. Default: as the nearest tsconfig.json allows. */
  readonly importExtension?: "ts" | "js" | "none";
  /** Whether to replace modules that were edited. Default: false. */
  readonly force?: boolean;
  readonly cwd: string;
}

/** Result of `importProtos`. If there are errors, it contains no files. */
export interface ImportResult {
  readonly files: readonly GeneratedFile[];
  readonly diagnostics: readonly Diagnostic[];
  /** Parts of the files that the modules do not have. */
  readonly warnings: readonly Diagnostic[];
}

/** A module to write: the types and services of a `.proto` file. */
interface Module {
  readonly path: string;
  readonly types: Set<Declaration>;
  readonly services: protobuf.Service[];
  /** Names of the module's constants. */
  readonly names: Map<protobuf.ReflectionObject, string>;
  readonly taken: Set<string>;
}

/** Creates modules of zod schemas from `.proto` files, for `quicrpc gen`. Does not write them. */
export function importProtos(options: ImportOptions): ImportResult {
  const { cwd, folders = [], out = ".", force = false } = options;
  const diagnostics: Diagnostic[] = [];
  const warnings: Diagnostic[] = [];
  const protos = loadProtos(options.files, folders, cwd, (problem) => void diagnostics.push(problem));
  if (diagnostics.length > 0) return { files: [], diagnostics, warnings };
  const modules = new Map<string, Module>();
  const extensionOf = new TsConfigs();

  const moduleOf = (object: protobuf.ReflectionObject): Module => {
    const file = fileNameOf(object);
    const known = modules.get(file);
    if (known !== undefined) return known;
    const hasServices = declarationsOf(protos.root, file).some((each) => each instanceof protobuf.Service);
    const path = join(resolve(cwd, out), file.replace(/\.proto$/, hasServices ? ".service.ts" : ".ts"));
    const taken = new Set(["z", "rpc", "service", "stream", "Uint8Array", "RegExp", "Set", "Object", "Number"]);
    const made = { path, types: new Set<Declaration>(), services: [], names: new Map(), taken };
    modules.set(file, made);
    return made;
  };

  const fail = (object: protobuf.ReflectionObject, error: unknown): void => {
    const { missing } = protos;
    const [, name] = /^no such [^':]*(?:'|: )([^'\s]+)/.exec((error as Error).message) ?? [];
    const hint = missing.length === 0 ? "Import the file that declares it." : notFound(missing);
    const message = `The type ${name ?? "of a field"} was not found.`;
    diagnostics.push({ code: "proto-type", ...placeOf(object, protos.files), message, help: hint });
  };
  const resolved = <Item extends protobuf.ReflectionObject>(object: Item): Item | undefined => {
    try {
      object.resolve();
      return object;
    } catch (error) {
      fail(object, error);
      return undefined;
    }
  };

  /** Adds a type, and the types that it refers to. */
  const add = (type: Declaration): void => {
    if (knownName(type) !== undefined) return;
    const { types } = moduleOf(type);
    if (types.has(type)) return;
    types.add(type);
    if (type instanceof protobuf.Enum) return;
    for (const field of type.fieldsArray) {
      const { resolvedType = null } = resolved(field) ?? {};
      if (resolvedType !== null && reasonToOmit(field) === undefined) add(resolvedType);
    }
  };
  for (const file of protos.names) {
    for (const object of declarationsOf(protos.root, file)) {
      if (!(object instanceof protobuf.Service)) {
        add(object);
        continue;
      }
      moduleOf(object).services.push(object);
      for (const method of object.methodsArray) {
        if (resolved(method) === undefined) continue;
        const { resolvedRequestType, resolvedResponseType } = method;
        for (const type of [resolvedRequestType, resolvedResponseType]) if (type !== null) add(type);
      }
    }
  }
  if (diagnostics.length > 0) return { files: [], diagnostics, warnings };

  const constantOf = (object: protobuf.ReflectionObject): string => {
    const { names, taken } = moduleOf(object);
    let name = names.get(object);
    if (name === undefined) {
      const path = pathOf(object).join("").replaceAll("_", "");
      // The members of an enum are a constant of the same name without `Schema`.
      if (object instanceof protobuf.Enum) name = `${freeName(path, taken)}Schema`;
      else name = freeName(path, taken);
      taken.add(name);
      names.set(object, name);
    }
    return name;
  };
  // The names of a module do not depend on which module is printed first.
  for (const { types, services } of modules.values()) for (const each of [...services, ...types]) constantOf(each);

  const files = Array.from(modules, ([name, module]): GeneratedFile => {
    const { path, types, services, taken } = module;
    const extension = options.importExtension ?? importExtensionOf(extensionOf.optionsFor(path));
    const imports = new Imports(path, extension, () => false);
    const printer = new ModulePrinter(
      {
        constantOf,
        specifierOf: (type) => {
          const other = moduleOf(type);
          return other === module ? undefined : imports.specifierOf(other.path);
        },
        warn: (object, message, help) =>
          void warnings.push({ code: "proto-left-out", ...placeOf(object, protos.files), message, help }),
      },
      taken,
    );
    const text = withHeader(name, printer.print([...types], services));
    const before = existsSync(path) ? readFileSync(path, "utf8") : undefined;
    if (before !== undefined && !force && isEdited(before)) {
      const message = `${relative(cwd, path)} was edited since quicrpc import wrote it, or was not written by it.`;
      const help = "Keep your changes in another module, and replace this one with --force, or name another folder.";
      diagnostics.push({ code: "import-edited", file: path, message, help });
    }
    return { path, text, changed: before === undefined || contentOf(before) !== contentOf(text) };
  });
  return { files: diagnostics.length > 0 ? [] : files, diagnostics, warnings };
}

function notFound(missing: readonly string[]): string {
  return `Add the folder to which imports are relative with -I. Not found: ${missing.join(", ")}.`;
}

/** Returns the name of the file that declares an object. */
function fileNameOf(object: protobuf.ReflectionObject): string {
  for (let each: protobuf.ReflectionObject | null = object; each !== null; each = each.parent) {
    if (each.filename !== null) return each.filename;
  }
  return "";
}

/** Returns the messages, enums and services of a file, with nested ones. */
function declarationsOf(
  namespace: protobuf.NamespaceBase,
  file: string,
): (protobuf.Type | protobuf.Enum | protobuf.Service)[] {
  return namespace.nestedArray.flatMap((object) => {
    const isOwn = fileNameOf(object) === file;
    if (object instanceof protobuf.Enum || object instanceof protobuf.Service) return isOwn ? [object] : [];
    if (object instanceof protobuf.Type)
      return isOwn && !("group" in object && object.group === true) ? [object, ...declarationsOf(object, file)] : [];
    return object instanceof protobuf.Namespace ? declarationsOf(object, file) : [];
  });
}

const HEADER = /^\/\/ Written by quicrpc import from .* \((\w+)\)\n.*\n/;

function withHeader(name: string, text: string): string {
  return (
    `// Written by quicrpc import from ${name}. (${hashOf(text)})\n` +
    `// quicrpc import replaces this file, unless it was edited.\n${text}`
  );
}

/** Returns the text of a module as far as formatters keep it. */
function contentOf(text: string): string {
  return text.replaceAll(/[\s,;()"'`*]/g, "");
}

function hashOf(text: string): string {
  return createHash("sha256").update(contentOf(text)).digest("hex").slice(0, 12);
}

function isEdited(text: string): boolean {
  const [head, hash] = HEADER.exec(text) ?? [];
  return head === undefined || hashOf(text.slice(head.length)) !== hash;
}
