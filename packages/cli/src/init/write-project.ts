import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { findSchemaFiles } from "@quicrpc/codegen";
import { DEFAULT_PATTERN } from "@quicrpc/codegen/config";
import { formatManifest, isManifest, type Manifest, templateFiles } from "./templates.js";

/** Result of `writeProject`: paths of files, or names of package.json entries. */
export interface InitResult {
  readonly directory: string;
  readonly template: string;
  readonly added: readonly string[];
  /** Existing files that were left unchanged. */
  readonly kept: readonly string[];
  readonly notes: readonly string[];
}

/** Matches paths of sample files. A project that has its own schema does not need them. */
const SAMPLE = /\.(?:tsx?|html|md)$/;

/**
 * Writes the files of a template to `directory`. Existing files are not replaced. `manager` is the package manager that
 * will install the dependencies.
 */
export function writeProject(directory: string, template: string, version: string, manager: string): InitResult {
  const [added, kept, notes]: [string[], string[], string[]] = [[], [], []];
  if (existsSync(directory) && !statSync(directory).isDirectory())
    throw new Error(`${directory} is a file: name a folder, which may be new`);
  const hasSchemas = existsSync(directory) && findSchemaFiles([DEFAULT_PATTERN], directory, []).files.length > 0;
  const isNew = !existsSync(join(directory, "package.json"));
  let leftOut = false;
  // A package of an existing pnpm workspace must not become a workspace of its own.
  const forPnpm = isNew && manager === "pnpm";
  for (const [path, text] of templateFiles(template, packageName(directory), version, forPnpm)) {
    const target = join(directory, path);
    if (isManifest(path)) {
      const merged = mergeManifest(target, path, text, { added, kept });
      if (merged === undefined) continue;
      write(target, path === "package.json" && isNew ? named(merged, packageName(directory)) : merged);
    } else if (existsSync(target)) {
      kept.push(path);
    } else if (hasSchemas && SAMPLE.test(path)) {
      leftOut = true;
    } else {
      write(target, text);
      added.push(path);
    }
  }
  if (leftOut) notes.push("the project has its own schemas: the template's sample was left out");
  if (added.length === 0) notes.push("nothing was changed: the project already has all parts of the template");
  if (!isNew && readManifest(join(directory, "package.json")).type !== "module") {
    notes.push('package.json has no "type": "module": set it, or rename the written files to .mts');
  }
  if (kept.includes("tsconfig.json") && !resolvesExports(readFileSync(join(directory, "tsconfig.json"), "utf8"))) {
    notes.push('tsconfig.json does not resolve "exports" of packages: set "module": "nodenext"');
  }
  return { directory, template, added, kept, notes };
}

/**
 * Returns true if a tsconfig.json file lets TypeScript resolve package exports. Does not read files that it extends.
 */
function resolvesExports(text: string): boolean {
  return /"module(?:Resolution)?"\s*:\s*"(?:node(?:16|18|20|next)|bundler|preserve)"|"(?:extends|references)"\s*:/i.test(
    text,
  );
}

/** Returns the text of a package.json file with missing entries added, or undefined if none are missing. */
function mergeManifest(
  target: string,
  path: string,
  text: string,
  { added, kept }: { readonly added: string[]; readonly kept: string[] },
): string | undefined {
  if (!existsSync(target)) {
    added.push(path);
    return text;
  }
  const template = JSON.parse(text) as Manifest;
  const manifest = readManifest(target);
  let isChanged = false;
  for (const field of ["scripts", "dependencies", "devDependencies"] as const) {
    for (const [name, value] of Object.entries(template[field] ?? {})) {
      const other = field === "dependencies" ? "devDependencies" : "dependencies";
      if (manifest[field]?.[name] !== undefined || (field !== "scripts" && manifest[other]?.[name] !== undefined)) {
        kept.push(`${path}: ${field} ${name}`);
        continue;
      }
      manifest[field] = { ...manifest[field], [name]: value };
      added.push(`${path}: ${field} ${name}`);
      isChanged = true;
    }
  }
  return isChanged ? formatManifest(manifest) : undefined;
}

function readManifest(path: string): Manifest {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Manifest;
  } catch (error) {
    throw new Error(`${path} is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
}

function named(text: string, name: string): string {
  return formatManifest({ name, version: "0.0.0", ...(JSON.parse(text) as Manifest) });
}

function packageName(directory: string): string {
  const name = basename(directory)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "");
  return name === "" ? "app" : name;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
