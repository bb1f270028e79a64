import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import protobuf from "protobufjs";
import { type Diagnostic, placeAt, type SourcePlace } from "../diagnostics.js";
import { fileNameOf, type FileScope, resolveNames } from "./scopes.js";
import { codeOf, withPlainEscapes } from "./text.js";

/** A `.proto` file that was read. */
export interface ProtoFile {
  /** Path by which other files import it. */
  readonly name: string;
  readonly path: string;
  readonly text: string;
  /** The text without comments and strings. */
  readonly code: string;
}

/** `.proto` files with those that they import. */
export interface ProtoFiles {
  readonly root: protobuf.Root;
  /** Names of the files to import, in order. */
  readonly names: readonly string[];
  readonly files: ReadonlyMap<string, ProtoFile>;
  /** Imports that were not found. Only a missing type is an error: many files are imported only for options. */
  readonly missing: readonly string[];
  /** Fields and methods with a type that was not found, and its name. */
  readonly unresolved: ReadonlyMap<protobuf.ReflectionObject, string>;
}

type Report = (problem: Diagnostic) => void;

/** Folder of protobufjs, which contains files such as `google/protobuf/descriptor.proto`. */
const BUNDLED = dirname(createRequire(import.meta.url).resolve("protobufjs/package.json"));

/**
 * Reads and parses `.proto` files and their imports.
 *
 * @param folders folders in which imports are searched; if there are none, the folders of `paths`
 */
export function loadProtos(
  paths: readonly string[],
  folders: readonly string[],
  cwd: string,
  report: Report,
): ProtoFiles {
  const given = paths.map((path) => resolve(cwd, path));
  const roots = folders.length > 0 ? folders.map((folder) => resolve(cwd, folder)) : given.map((path) => dirname(path));
  const root = new protobuf.Root();
  const files = new Map<string, ProtoFile>();
  const scopes = new Map<string, FileScope>();
  const loaded = new Set<string>();
  const missing: string[] = [];
  const pathOf = (name: string): string | undefined =>
    [...roots, BUNDLED].map((folder) => join(folder, name)).find(isFile);

  const load = (name: string): void => {
    if (loaded.has(name)) return;
    loaded.add(name);
    const common = protobuf.common.get(name);
    if (common?.nested !== undefined) {
      root.addJSON(common.nested);
      const added = root.lookup("google.protobuf");
      // A bundled file has no name.
      if (added instanceof protobuf.Namespace) for (const each of added.nestedArray) each.filename ??= name;
      scopes.set(name, { packageName: "google.protobuf", imports: [], publicImports: [] });
      return;
    }
    const path = pathOf(name);
    if (path === undefined) {
      missing.push(name);
      return;
    }
    const text = readFileSync(path, "utf8");
    parse({ name, path, text, code: codeOf(text) });
  };
  const parse = (file: ProtoFile): void => {
    files.set(file.name, file);
    const unsupported = unsupportedIn(file);
    if (unsupported !== undefined) return report(unsupported);
    (protobuf.parse as { filename?: string }).filename = file.name;
    try {
      const parsed = protobuf.parse(withPlainEscapes(file.text), root, { keepCase: true, alternateCommentMode: true });
      const imports = [...(parsed.imports ?? []), ...(parsed.weakImports ?? [])];
      const wrong = imports.find((each) => !isProtoName(each));
      if (wrong !== undefined) {
        const at = file.text.indexOf(wrong);
        return report({
          code: "proto-syntax",
          ...(at < 0 ? { file: file.path } : placeAtIndex(file, at)),
          message: `The import ${JSON.stringify(wrong)} is not a path of a .proto file below one of the folders of -I.`,
          help: "Write the path from that folder, with slashes, and without . and .. in it.",
        });
      }
      const words = Array.from(file.code.matchAll(/\bimport\s+(?:(public|weak)\b)?\s*["']/g), ([, word]) => word);
      const isPublic = words.filter((word) => word !== "weak").map((word) => word === "public");
      const publicImports = (parsed.imports ?? []).filter((_, index) => isPublic[index]);
      scopes.set(file.name, { packageName: parsed.package ?? "", imports, publicImports });
      imports.forEach(load);
    } catch (error) {
      report({ code: "proto-syntax", ...describe(error as Error, file) });
    }
  };

  const names = given.flatMap((path) => {
    const name = roots
      .map((folder) => relative(folder, path))
      .find((each) => !each.startsWith("..") && !isAbsolute(each))
      ?.replaceAll(sep, "/");
    const problem = (message: string, help: string): [] => {
      report({ code: "file-not-found", file: path, message, help });
      return [];
    };
    if (!isFile(path)) return problem("The file does not exist, or is not a file.", "Name .proto files, not folders.");
    if (name === undefined) {
      const help = "Add the folder to which its imports are relative with -I.";
      return problem("The file is in none of the folders of -I.", help);
    }
    if (!isProtoName(name)) return problem("The name of the file does not end in .proto.", "Rename the file.");
    const first = pathOf(name);
    if (first !== path) {
      const message = `${first ?? name} is found as ${JSON.stringify(name)} before this file.`;
      return problem(message, "Name the folder that contains both with -I, or import them one by one.");
    }
    load(name);
    return [name];
  });
  // Extensions are not imported, and those of unknown types, such as options, would fail.
  root.deferred = [];
  const unresolved = resolveNames(root, scopes);
  try {
    root.resolveAll();
  } catch {
    // Types are resolved again where they are used, with the location.
  }
  return { root, names: [...new Set(names)], files, missing, unresolved };
}

export function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}

/** Returns true for a path to a .proto file in a folder: it cannot lead out of the folder. */
function isProtoName(name: string): boolean {
  return /^[^\\\p{Cc}]+\.proto$/u.test(name) && name.split("/").every((part) => !["", ".", ".."].includes(part));
}

/** Returns the problem of a file that the parser accepts, but reads differently from protoc, or does not describe. */
function unsupportedIn(file: ProtoFile): Diagnostic | undefined {
  const { code, text } = file;
  const problem = (at: number, message: string, help: string): Diagnostic => ({
    code: "proto-syntax",
    ...placeAtIndex(file, at),
    message,
    help,
  });
  const syntax = /(?<![\w.])syntax\s*=\s*["']/.exec(code);
  if (syntax !== null && !/^proto[23]["']/.test(text.slice(syntax.index + syntax[0].length))) {
    return problem(syntax.index, "The syntax is unknown.", 'Write "proto2", "proto3" or an edition.');
  }
  const group = /\boneof\s+\w+\s*\{[^{}]*\bgroup\s/.exec(code);
  if (group !== null) {
    const help = "Declare a message, and a field of that type.";
    return problem(group.index + group[0].length - 6, "A group in a oneof is not supported.", help);
  }
  const zero = /(?:\.(?:not_)?in\s*=|\b(?:not_)?in\s*:)\s*(?:-?0+(?:\.0*)?(?![\w.])|""|'')/.exec(code);
  if (zero !== null) {
    return problem(
      zero.index,
      "A rule with one zero value may get lost.",
      "Write the values as a list: { in: [0, 1] }.",
    );
  }
  return undefined;
}

/** Describes an error of the parser. */
function describe({ message }: Error, file: ProtoFile): Pick<Diagnostic, "message" | "help" | "file"> {
  const [, kind, name, owner = ""] = /^duplicate (id|name) '?(\w+)'? in (?:\w+ )?(\w*)/.exec(message) ?? [];
  if (name !== undefined) {
    const isNumber = kind === "id";
    const start = isNumber ? searchFrom(file.code, `\\bmessage\\s+${owner}\\b`, 0) : 0;
    const pattern = isNumber
      ? `=\\s*${name}\\b`
      : `\\b(?:message|enum|service|rpc|oneof)\\s+${name}\\b|\\b${name}\\s*=`;
    const all = [...file.code.slice(start).matchAll(new RegExp(pattern, "g"))];
    return {
      ...placeAtIndex(file, start + ((isNumber ? all[1] : all.at(-1))?.index ?? 0)),
      message: isNumber ? `Two fields of ${owner} have the number ${name}.` : `${name} is declared twice.`,
      help: "Correct the file, or the files that it imports.",
    };
  }
  const [, text, line] = /^(.*?) \((?:.*, )?line (\d+)\)$/.exec(message) ?? [];
  return {
    ...(line === undefined ? { file: file.path } : placeAt(file.path, file.text, Number(line), 1)),
    message: `The file is not valid protobuf: ${text ?? message}.`,
    help: "Correct the file. protoc or buf build may describe the error in more detail.",
  };
}

function placeAtIndex({ path, text }: ProtoFile, index: number): SourcePlace {
  const before = text.slice(0, index).split("\n");
  return placeAt(path, text, before.length, (before.at(-1)?.length ?? 0) + 1);
}

/**
 * Returns the location of the declaration of a message, enum, field, service or method. The parser does not keep it, so the text is
 * searched for the names.
 */
export function placeOf(
  object: protobuf.ReflectionObject,
  files: ReadonlyMap<string, ProtoFile>,
): Partial<SourcePlace> {
  const owners: protobuf.ReflectionObject[] = [];
  for (let each: protobuf.ReflectionObject | null = object; each?.parent; each = each.parent) owners.unshift(each);
  const file = files.get(fileNameOf(object));
  if (file === undefined) return {};
  let at = 0;
  for (const each of owners) {
    if (each instanceof protobuf.Namespace || each instanceof protobuf.Enum || each instanceof protobuf.Method) {
      at = searchFrom(file.code, `\\b(?:message|enum|service|rpc|group)\\s+${each.name}\\b`, at);
    } else if (each instanceof protobuf.Field) {
      at = searchFrom(file.code, `\\b${each.name}\\s*=\\s*${each.id}\\b`, at);
    }
  }
  return placeAtIndex(file, at);
}

function searchFrom(text: string, pattern: string, start: number): number {
  const found = text.slice(start).search(new RegExp(pattern, "i"));
  return found < 0 ? start : start + found;
}
