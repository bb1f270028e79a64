import { basename } from "node:path";
import type { CodecPlan } from "../codec/plan.js";
import { CodecPrinter } from "../codec/printer.js";
import type { FileModel } from "../model.js";
import type { SharedModule } from "../shared.js";
import { WIRE } from "./core-imports.js";
import { FileNames, takenNames } from "./file-names.js";
import { headerFor, SHARED_SCHEMAS } from "./header.js";
import { type ImportExtension, Imports } from "./imports.js";
import { codecsFileOf } from "./paths.js";
import { joinParts } from "./writer.js";

/**
 * Comments at the beginning of a file with codecs. They exclude it from type-checking and linting, which would
 * otherwise take most of the time for a program with many methods.
 */
export const UNCHECKED: string = `// Not checked where it is used, which would take long: the generator's tests do that.
/* eslint-disable */
// @ts-nocheck
`;

/** Returns the text of the file with the codecs for the types in `typesFile`. */
export function printCodecs(
  model: FileModel,
  typesFile: string,
  sharedFile: string,
  extension: ImportExtension,
  explain: boolean,
): string {
  const imports = importsOf(typesFile, extension, takenNames(model));
  const places = { types: typesFile, sharedTypes: sharedFile, sharedCodecs: codecsFileOf(sharedFile) };
  const names = new FileNames(imports, places);
  const code = new CodecPrinter(model.codecs, names, explain).print();
  return join(basename(model.schemaFile), model.codecs, imports, names, code);
}

export function printSharedCodecs(
  { types, codecs }: SharedModule,
  typesFile: string,
  extension: ImportExtension,
  explain: boolean,
): string {
  const imports = importsOf(typesFile, extension, takenNames({ declarations: types.declarations, codecs }));
  const names = new FileNames(imports, { sharedTypes: typesFile });
  const code = new CodecPrinter(codecs, names, explain, true).print();
  return join(SHARED_SCHEMAS, codecs, imports, names, code);
}

function importsOf(typesFile: string, extension: ImportExtension, taken: ReadonlySet<string>): Imports {
  // Printing the code determines the names of patterns, so it comes before the imports.
  return new Imports(codecsFileOf(typesFile), extension, (name) => taken.has(name) || /Pattern\d*$/.test(name));
}

function join(
  source: string,
  { messages }: CodecPlan,
  imports: Imports,
  names: FileNames,
  code: readonly string[],
): string {
  const all = [
    messages.length === 0 ? "" : 'import type { MessageCodec } from "@quicrpc/core/generated";\n',
    names.zodImport,
    `import * as ${WIRE} from "@quicrpc/core/codec";\n`,
    imports.print(),
  ];
  return joinParts([headerFor(source) + UNCHECKED, all.join(""), ...code]);
}
