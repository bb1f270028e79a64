import { basename } from "node:path";
import { type CodecNames, CodecPrinter } from "../codec/printer.js";
import type { FileModel, Reexport } from "../model.js";
import { generatedNames } from "../names.js";
import type { SharedModule } from "../shared.js";
import { referenceName } from "../types/node.js";
import { CORE_TYPES, CORE_VALUES, WIRE } from "./core-imports.js";
import { printDeclaration } from "./declarations.js";
import { HEADER } from "./header.js";
import { type ImportExtension, Imports, importText } from "./imports.js";
import { printService, type Target } from "./service.js";
import { schemaExpression } from "./type-text.js";

/** What the printing of a file depends on besides its model. */
export interface PrintOptions {
  readonly extension: ImportExtension;
  readonly target: Target;
  /** Where the output for another schema module goes. */
  readonly outputOf: (schemaFile: string) => string;
  /** Where what tools are told goes; undefined where there is no such file. */
  readonly toolingFile: string | undefined;
  /** Where what the file shares with others goes. */
  readonly sharedFile: string;
}

/** The text of the generated file for `model`, to be written to `outFile`. */
export function printFile(model: FileModel, outFile: string, options: PrintOptions): string {
  const { extension, target, toolingFile, outputOf, sharedFile } = options;
  const { services, declarations, sharedTypes } = model;
  const taken = new Set([
    ...sharedTypes,
    ...declarations.map(({ name }) => name),
    ...services.map(({ prefix }) => prefix),
  ]);
  for (const { exportName } of services) taken.delete(exportName);
  const imports = new Imports(outFile, extension, (name) => taken.has(name));
  const shared = imports.specifierOf(sharedFile);
  const names = new FileNames(imports, shared);
  const codecs = new CodecPrinter(model.codecs, names).print();
  const tooling = toolingFile === undefined ? undefined : imports.specifierOf(toolingFile);
  const body = [
    ...declarations.map((each) => printDeclaration(each, names)),
    codecs.messages,
    ...services.map((service) => printService(service, names, target, tooling)),
    codecs.code,
  ];
  const exports = [
    importText("export type", sharedTypes, shared),
    ...model.reexports.map((each) =>
      importText("export", reexportNames(each, target), imports.specifierOf(outputOf(each.schemaFile))),
    ),
  ];
  return joinParts(`${HEADER}${basename(model.schemaFile)}. Do not edit.\n`, imports, names.usesZod, exports, body);
}

/** The text of the file with what several others share. */
export function printShared({ types, codecs }: SharedModule, outFile: string, extension: ImportExtension): string {
  const taken = new Set(types.declarations.map(({ name }) => name));
  const imports = new Imports(outFile, extension, (name) => taken.has(name));
  const names = new FileNames(imports, "");
  const { code } = new CodecPrinter(codecs, names, true).print();
  const body = [...types.declarations.map((each) => printDeclaration(each, names)), code];
  return joinParts(`${HEADER}schemas that several services share. Do not edit.\n`, imports, names.usesZod, [], body);
}

/** What a file calls what it imports, and that it does so. */
class FileNames implements CodecNames {
  usesZod = false;
  readonly #imports: Imports;
  readonly #shared: string;

  /** `shared` is the module that the file shares with others, as it imports it. */
  constructor(imports: Imports, shared: string) {
    this.#imports = imports;
    this.#shared = shared;
  }

  schema: CodecNames["schema"] = (helper, root, access) => {
    this.usesZod = true;
    return `z.${helper}<${schemaExpression(this.#imports.schema(root, false), access)}>`;
  };

  named: CodecNames["named"] = (target, direction) => {
    const name = referenceName(target, direction);
    if (target.isShared && this.#shared !== "") this.#imports.add(this.#shared, name, false);
    return name;
  };

  value: CodecNames["value"] = (root) => this.#imports.schema(root, true);

  shared: CodecNames["shared"] = (name) => {
    this.#imports.add(this.#shared, name, true);
    return name;
  };
}

function joinParts(
  header: string,
  imports: Imports,
  usesZod: boolean,
  exports: readonly string[],
  body: readonly string[],
): string {
  const text = body.filter((part) => part !== "").join("\n");
  const used = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(text);
  const values = CORE_VALUES.filter(used);
  const types = CORE_TYPES.filter(used);
  const core =
    values.length === 0
      ? importText("import type", types, "@quicrpc/core")
      : importText("import", [...values, ...types.map((name) => `type ${name}`)], "@quicrpc/core");
  const wire = text.includes(`${WIRE}.`) ? `import * as ${WIRE} from "@quicrpc/core/codec";\n` : "";
  const zod = usesZod ? 'import type { z } from "zod";\n' : "";
  return [header, `${core}${zod}${wire}${imports.print()}`, exports.join(""), text]
    .filter((part) => part !== "")
    .join("\n");
}

/** What one generated file passes on of a service from another, by the names that it has there and here. */
function reexportNames({ from, to }: Reexport, target: Target): string[] {
  const there = generatedNames(from);
  const here = generatedNames(to);
  return there.flatMap((name, index) => {
    // The first is not exported.
    if (index === 0) return [];
    const isServer = name.endsWith("Handlers") || name.endsWith("Router");
    if ((isServer && target === "client") || (name.endsWith("Client") && target === "server")) return [];
    const isType = !name.startsWith("create") && !name.endsWith("Methods");
    return [`${isType ? "type " : ""}${name === here[index] ? name : `${name} as ${here[index]}`}`];
  });
}
