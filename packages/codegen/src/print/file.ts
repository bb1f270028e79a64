import { basename } from "node:path";
import type { FileModel, Reexport } from "../model.js";
import { generatedNames, TOPIC_NAMES } from "../names.js";
import type { SharedModule } from "../shared.js";
import { printDeclaration } from "./declarations.js";
import { ANY, FileNames, takenNames } from "./file-names.js";
import { headerFor, SHARED_SCHEMAS } from "./header.js";
import { type ImportExtension, Imports, importText } from "./imports.js";
import { codecsFileOf } from "./paths.js";
import { isClient, printService, type Target } from "./service.js";
import { joinParts } from "./writer.js";

export interface PrintOptions {
  readonly extension: ImportExtension;
  readonly target: Target;
  readonly outputOf: (schemaFile: string) => string;
  /** Path of the file with descriptions for tools; undefined if there is none. */
  readonly toolingFile: string | undefined;
  readonly sharedFile: string;
  readonly linksTo: (schemaFile: string) => boolean;
}

/**
 * Returns the text of the generated file for `model`, except its codecs.
 *
 * @param outFile path to which it will be written
 */
export function printFile(model: FileModel, outFile: string, options: PrintOptions): string {
  const { extension, target, toolingFile, outputOf, sharedFile, linksTo } = options;
  const { services, declarations, sharedTypes, codecs } = model;
  const taken = takenNames(model);
  const imports = new Imports(outFile, extension, (name) => taken.has(name));
  for (const name of codecs.messages) imports.add(imports.specifierOf(codecsFileOf(outFile)), name, true);
  const declared = new Set(services.flatMap(({ prefix }) => generatedNames(prefix)));
  const names = new FileNames(imports, { sharedTypes: sharedFile, linksTo }, ANY, declared);
  const tooling = toolingFile === undefined ? undefined : imports.specifierOf(toolingFile);
  const body = [
    ...declarations.map((each) => printDeclaration(each, names)),
    ...services.map((service) => printService(service, names, target, tooling, taken)),
  ].join("\n");
  const exports = [
    importText("export type", sharedTypes, imports.specifierOf(sharedFile)),
    ...model.reexports.map((each) =>
      importText("export", reexportNames(each, target), imports.specifierOf(outputOf(each.schemaFile))),
    ),
  ].join("");
  const header = headerFor(basename(model.schemaFile));
  return joinParts([header, `${names.coreImport}${names.zodImport}${imports.print()}`, exports, body]);
}

/** Returns the text of the shared module, with the types that several files use. */
export function printShared(
  { types }: SharedModule,
  outFile: string,
  extension: ImportExtension,
  linksTo: PrintOptions["linksTo"],
): string {
  const taken = takenNames(types);
  const imports = new Imports(outFile, extension, (name) => taken.has(name));
  const names = new FileNames(imports, { linksTo }, ANY);
  const body = types.declarations.map((each) => printDeclaration(each, names));
  return joinParts([headerFor(SHARED_SCHEMAS), `${names.coreImport}${names.zodImport}${imports.print()}`, ...body]);
}

function reexportNames({ from, to, topics }: Reexport, target: Target): string[] {
  const there = generatedNames(from);
  const here = generatedNames(to);
  return there.flatMap((name, index) => {
    // The first name is not exported.
    if (index === 0) return [];
    const ofTopics = index >= there.length - TOPIC_NAMES;
    if (ofTopics && !topics) return [];
    const isServer = name.endsWith("Handlers") || name.endsWith("Router") || ofTopics;
    if ((isServer && isClient(target)) || (name.endsWith("Client") && target === "server")) return [];
    const isType = !name.startsWith("create") && !name.endsWith("Methods");
    return [`${isType ? "type " : ""}${name === here[index] ? name : `${name} as ${here[index]}`}`];
  });
}
