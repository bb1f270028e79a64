import { readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import protobuf from "protobufjs";
import type { Diagnostic } from "../diagnostics.js";
import type { GeneratedFile } from "../generate.js";
import { importExtensionOf } from "../import-extension.js";
import { type ImportExtension, Imports } from "../print/imports.js";
import { groupBy } from "../proto/group.js";
import { isFieldNumber, MAX_NUMBER } from "../proto/numbers.js";
import { TsConfigs } from "../tsconfig.js";
import { knownName } from "./fields.js";
import { isFile, loadProtos, placeOf } from "./load.js";
import { type Declaration, freeName, ModulePrinter, pathOf, reasonToOmit } from "./module.js";
import { fileNameOf } from "./scopes.js";
import { isEdited, isSameModule, withHeader } from "./written.js";

export { writeGenerated } from "../write.js";

/** Options of `importProtos`. */
export interface ImportOptions {
  /** Paths of `.proto` files. */
  readonly files: readonly string[];
  /** Folders in which imports of the files are searched. Default: the folders of the files. */
  readonly folders?: readonly string[];
  /** Folder of the modules. Default: `cwd`. */
  readonly out?: string;
  /** Extension in imports of other modules. Default: as the nearest tsconfig.json allows. */
  readonly importExtension?: ImportExtension;
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

/** Names that modules use, and must not declare. */
const USED = ["z", "rpc", "service", "stream", "Uint8Array", "RegExp", "Set", "Object", "Number", "Math"];

/** A module to write: the types and services of a `.proto` file. */
interface Module {
  readonly path: string;
  readonly types: readonly Declaration[];
  readonly services: readonly protobuf.Service[];
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
  const declarations = groupBy(declarationsOf(protos.root), fileNameOf);
  const modules = new Map<string, Module>();
  const extensionOf = new TsConfigs();

  /** Returns the module for a file. Its content depends only on the file, so that runs for other files do not change it. */
  const moduleFor = (file: string): Module => {
    const known = modules.get(file);
    if (known !== undefined) return known;
    const all = declarations.get(file) ?? [];
    const services = all.filter((each) => each instanceof protobuf.Service);
    const types = all.filter((each): each is Declaration => !(each instanceof protobuf.Service) && !isKnown(each));
    const path = join(resolve(cwd, out), file.replace(/\.proto$/, services.length > 0 ? ".service.ts" : ".ts"));
    const [other] = [...modules].find(([, each]) => each.path === path) ?? [];
    if (other !== undefined) {
      const message = `${other} and ${file} would be written to the same module, ${relative(cwd, path)}.`;
      const { path: source = file } = protos.files.get(file) ?? {};
      diagnostics.push({ code: "output-clash", file: source, message, help: "Rename one of the two files." });
    }
    const made = { path, types, services, names: new Map(), taken: new Set(USED) };
    modules.set(file, made);
    for (const type of types) if (type instanceof protobuf.Type) type.fieldsArray.forEach(addTypesOf);
    for (const service of services) service.methodsArray.forEach(addTypesOf);
    return made;
  };
  const moduleOf = (object: protobuf.ReflectionObject): Module => moduleFor(fileNameOf(object));

  /** Adds the modules that contain the types of a field or method. */
  const addTypesOf = (object: protobuf.Field | protobuf.Method): void => {
    if (object instanceof protobuf.Field && reasonToOmit(object) !== undefined) return;
    if (object instanceof protobuf.Field && !isFieldNumber(object.id)) {
      const message = `${object.name} has the invalid number ${object.id}.`;
      const help = `Field numbers are 1 to ${MAX_NUMBER}, except 19000 to 19999.`;
      diagnostics.push({ code: "proto-syntax", ...placeOf(object, protos.files), message, help });
    }
    const { missing, unresolved } = protos;
    const name = unresolved.get(object);
    if (name !== undefined) {
      const help = missing.length === 0 ? "Import the file that declares it." : notFound(missing);
      const message = `The type ${name} was not found.`;
      diagnostics.push({ code: "proto-type", ...placeOf(object, protos.files), message, help });
      return;
    }
    try {
      object.resolve();
    } catch (error) {
      const message = `The parser refuses ${object.name}: ${(error as Error).message}.`;
      const help = "Correct its type and options.";
      diagnostics.push({ code: "proto-syntax", ...placeOf(object, protos.files), message, help });
      return;
    }
    const types =
      object instanceof protobuf.Field
        ? [object.resolvedType]
        : [object.resolvedRequestType, object.resolvedResponseType];
    for (const type of types) if (type !== null && !isKnown(type)) moduleOf(type);
  };
  protos.names.forEach(moduleFor);
  if (diagnostics.length > 0) return { files: [], diagnostics, warnings };

  const constantOf = (object: protobuf.ReflectionObject): string => {
    const { names, taken } = moduleOf(object);
    let name = names.get(object);
    if (name === undefined) {
      const path = pathOf(object).join("").replaceAll("_", "");
      // The members of an enum are a constant of the same name without `Schema`.
      if (object instanceof protobuf.Enum) name = `${freeName(path, taken, ["", "Schema"])}Schema`;
      else name = freeName(path, taken);
      names.set(object, name);
    }
    return name;
  };
  // The names of a module do not depend on which module is printed first.
  for (const { types, services } of modules.values()) for (const each of [...services, ...types]) constantOf(each);

  const files = Array.from(modules, ([name, module]): GeneratedFile => {
    const { path, types, services, taken } = module;
    const extension = options.importExtension ?? importExtensionOf(extensionOf.optionsFor(path));
    const printer = new ModulePrinter(
      {
        constantOf,
        fileOf: (type) => {
          const other = moduleOf(type);
          return other === module ? undefined : other.path;
        },
        warn: (object, message, help) =>
          void warnings.push({ code: "proto-left-out", ...placeOf(object, protos.files), message, help }),
      },
      new Imports(path, extension, (each) => taken.has(each)),
    );
    const text = withHeader(name, printer.print(types, services));
    const before = isFile(path) ? readFileSync(path, "utf8") : undefined;
    if (before !== undefined && !force && isEdited(before)) {
      const message = `${relative(cwd, path)} was edited since quicrpc import wrote it, or was not written by it.`;
      const help = "Keep your changes in another module, and replace this one with --force, or name another folder.";
      diagnostics.push({ code: "import-edited", file: path, message, help });
    }
    return { path, text, changed: before === undefined || !isSameModule(before, text) };
  });
  return { files: diagnostics.length > 0 ? [] : files, diagnostics, warnings };
}

function notFound(missing: readonly string[]): string {
  return `Add the folder to which imports are relative with -I. Not found: ${missing.join(", ")}.`;
}

function isKnown(type: Declaration): boolean {
  return knownName(type) !== undefined;
}

/** Returns the messages, enums and services in a namespace, with nested ones. */
function declarationsOf(namespace: protobuf.NamespaceBase): (Declaration | protobuf.Service)[] {
  return namespace.nestedArray.flatMap((object) => {
    if (object instanceof protobuf.Enum || object instanceof protobuf.Service) return [object];
    if (object instanceof protobuf.Type)
      return "group" in object && object.group === true ? [] : [object, ...declarationsOf(object)];
    return object instanceof protobuf.Namespace ? declarationsOf(object) : [];
  });
}
