import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import protobuf from "protobufjs";
import { type Diagnostic, placeAt, type SourcePlace } from "../diagnostics.js";

/** A `.proto` file that was read. */
export interface ProtoFile {
  /** Path by which other files import it. */
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

/** `.proto` files with those that they import. */
export interface ProtoFiles {
  readonly root: protobuf.Root;
  /** Names of the files to import, in order. */
  readonly names: readonly string[];
  readonly files: ReadonlyMap<string, ProtoFile>;
  /** Imports that were not found. Only a missing type is an error: many files are imported only for options. */
  readonly missing: readonly string[];
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
  const loaded = new Set<string>();
  const missing: string[] = [];

  const load = (name: string): void => {
    if (loaded.has(name)) return;
    loaded.add(name);
    const common = protobuf.common.get(name);
    if (common?.nested !== undefined) {
      root.addJSON(common.nested);
      const added = root.lookup("google.protobuf");
      // A bundled file has no name.
      if (added instanceof protobuf.Namespace) for (const each of added.nestedArray) each.filename ??= name;
      return;
    }
    const path = [...roots, BUNDLED].map((folder) => join(folder, name)).find((each) => existsSync(each));
    if (path === undefined) missing.push(name);
    else parse({ name, path, text: readFileSync(path, "utf8") });
  };
  const parse = (file: ProtoFile): void => {
    files.set(file.name, file);
    (protobuf.parse as { filename?: string }).filename = file.name;
    try {
      const { imports = [], weakImports = [] } = protobuf.parse(file.text, root, {
        keepCase: true,
        alternateCommentMode: true,
      });
      for (const each of [...imports, ...weakImports]) load(each);
    } catch (error) {
      const [, text, line] = /^(.*?) \((?:.*, )?line (\d+)\)$/.exec((error as Error).message) ?? [];
      report({
        code: "proto-syntax",
        ...(line === undefined ? { file: file.path } : placeAt(file.path, file.text, Number(line), 1)),
        message: `The file is not valid protobuf: ${text ?? (error as Error).message}.`,
        help: "Correct the file. protoc or buf build may describe the error in more detail.",
      });
    }
  };

  const names = given.flatMap((path) => {
    const name = roots
      .map((folder) => relative(folder, path))
      .find((each) => !each.startsWith("..") && !isAbsolute(each))
      ?.replaceAll("\\", "/");
    if (name === undefined || !existsSync(path)) {
      const reason = name === undefined ? "is in none of the folders of -I" : "does not exist";
      const help = name === undefined ? "Add the folder to which its imports are relative with -I." : "Check the path.";
      report({ code: "file-not-found", file: path, message: `The file ${reason}.`, help });
      return [];
    }
    load(name);
    return [name];
  });
  // Extensions are not imported, and those of unknown types, such as options, would fail.
  root.deferred = [];
  try {
    root.resolveAll();
  } catch {
    // Types are resolved again where they are used, with the location.
  }
  return { root, names: [...new Set(names)], files, missing };
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
  const file = files.get(owners.find(({ filename }) => filename !== null)?.filename ?? "");
  if (file === undefined) return {};
  let at = 0;
  for (const each of owners) {
    if (each instanceof protobuf.Namespace || each instanceof protobuf.Enum || each instanceof protobuf.Method) {
      at = searchFrom(file.text, `\\b(?:message|enum|service|rpc|group)\\s+${each.name}\\b`, at);
    } else if (each instanceof protobuf.Field) {
      at = searchFrom(file.text, `\\b${each.name}\\s*=\\s*${each.id}\\b`, at);
    }
  }
  const before = file.text.slice(0, at).split("\n");
  return placeAt(file.path, file.text, before.length, (before.at(-1)?.length ?? 0) + 1);
}

function searchFrom(text: string, pattern: string, start: number): number {
  const found = text.slice(start).search(new RegExp(pattern, "i"));
  return found < 0 ? start : start + found;
}
