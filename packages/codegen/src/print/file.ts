import { basename, dirname, relative } from "node:path";
import { CodecPrinter } from "../codec/printer.js";
import type { FileModel, Reexport } from "../model.js";
import { generatedNames } from "../names.js";
import { CORE_TYPES, CORE_VALUES, WIRE } from "./core-imports.js";
import { printDeclaration } from "./declarations.js";
import { HEADER } from "./header.js";
import { printService, type Target } from "./service.js";
import { schemaExpression } from "./type-text.js";
import { ImportNotes, list, MAX_WIDTH } from "./writer.js";

/** How generated files name the modules they import. */
export type ImportExtension = "ts" | "js" | "none";

/** What the printing of a file depends on besides its model. */
export interface PrintOptions {
  readonly extension: ImportExtension;
  readonly target: Target;
  /** Where the output for another schema module goes. */
  readonly outputOf: (schemaFile: string) => string;
  /** Where what tools are told goes; undefined where there is no such file. */
  readonly toolingFile: string | undefined;
}

/** The text of the generated file for `model`, to be written to `outFile`. */
export function printFile(model: FileModel, outFile: string, options: PrintOptions): string {
  const { extension, target, toolingFile } = options;
  const tooling = toolingFile === undefined ? undefined : specifierOf(toolingFile, outFile, extension);
  const serviceExports = new Set(model.services.map((service) => service.exportName));
  const declared = new Set(model.declarations.map((each) => each.name));
  const localName = (root: string): string => {
    if (root === "default")
      return `${model.services.find((each) => each.exportName === root)?.prefix ?? "default"}Schema`;
    return serviceExports.has(root) || !declared.has(root) ? root : `${root}Schema`;
  };
  const importName = (root: string): string => (root === localName(root) ? root : `${root} as ${localName(root)}`);
  const notes = new ImportNotes((helper, root, access) => `z.${helper}<${schemaExpression(localName(root), access)}>`);
  const codecs = new CodecPrinter(model.codecs, notes.schemaText, (root) => {
    notes.schemaValues.add(root);
    return localName(root);
  }).print();
  const declarations = model.declarations.map((each) => printDeclaration(each, notes.schemaText));
  const services = model.services.map((service) => printService(service, notes.schemaText, target, tooling));
  const body = [...declarations, codecs.messages, ...services, codecs.code].filter((part) => part !== "").join("\n");

  const used = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(body);
  const imports = [
    importText(
      "import",
      [...CORE_VALUES.filter(used), ...CORE_TYPES.filter(used).map((name) => `type ${name}`)],
      "@quicrpc/core",
    ),
    notes.usesZod ? importText("import type", ["z"], "zod") : "",
    codecs.messages === "" ? "" : `import * as ${WIRE} from "@quicrpc/core/codec";\n`,
    importText(
      notes.schemaValues.size === 0 ? "import type" : "import",
      [...new Set([...notes.schemaValues, ...notes.schemaTypes])].map((name) =>
        notes.schemaValues.size === 0 || notes.schemaValues.has(name) ? importName(name) : `type ${importName(name)}`,
      ),
      specifierOf(model.schemaFile, outFile, extension),
    ),
  ];
  const header = `${HEADER}${basename(model.schemaFile)}. Do not edit.\n`;
  const exports = model.reexports.map((each) =>
    importText(
      "export",
      reexportNames(each, target),
      specifierOf(options.outputOf(each.schemaFile), outFile, extension),
    ),
  );
  return [header, imports.join(""), exports.join(""), body].filter((part) => part !== "").join("\n");
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

function importText(keyword: string, names: readonly string[], from: string): string {
  if (names.length === 0) return "";
  const line = `${keyword} { ${names.join(", ")} } from ${JSON.stringify(from)};\n`;
  return line.length <= MAX_WIDTH ? line : `${list(`${keyword} {`, names, `} from ${JSON.stringify(from)};`)}\n`;
}

/** A module as seen from the generated file. */
function specifierOf(file: string, outFile: string, extension: ImportExtension): string {
  const path = relative(dirname(outFile), file).replaceAll("\\", "/");
  const dotted = path.startsWith(".") ? path : `./${path}`;
  if (extension === "ts") return dotted;
  return extension === "none" ? dotted.replace(/\.[cm]?[jt]sx?$/, "") : dotted.replace(/\.([cm]?)tsx?$/, ".$1js");
}
