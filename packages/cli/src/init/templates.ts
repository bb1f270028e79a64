import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A folder of `templates/`: which of its files to use, their folder in the new project, and text replacements. */
interface Layer {
  readonly from: string;
  readonly only?: readonly string[];
  readonly to?: string;
  readonly replace?: Readonly<Record<string, string>>;
}

const GREETER = ["src/greeter.ts", "src/greeter.test.ts"];

/**
 * Templates of `quicrpc init`, each with its layers. Files of later layers replace those of earlier layers, and
 * package.json files are merged.
 */
const LAYERS: Readonly<Record<string, readonly Layer[]>> = {
  node: [{ from: "service" }, { from: "server" }, { from: "node" }],
  browser: [{ from: "service" }, { from: "server" }, { from: "page" }, { from: "browser" }],
  react: [{ from: "service" }, { from: "server" }, { from: "page" }, { from: "react" }],
  monorepo: [
    { from: "service", only: ["_gitignore"] },
    { from: "service", only: ["src/greeter.service.ts"], to: "packages/api" },
    { from: "service", only: GREETER, to: "apps/server", replace: { "./generated/greeter.js": "@app/api" } },
    { from: "server", to: "apps/server" },
    { from: "page/src/page", only: ["connection.ts"], to: "apps/web/src" },
    {
      from: "browser/src/page",
      only: ["main.ts"],
      to: "apps/web/src",
      replace: { "../generated/greeter.js": "@app/api" },
    },
    {
      from: "browser/src/page",
      only: ["index.html"],
      to: "apps/web",
      replace: { "./main.ts": "/src/main.ts" },
    },
    { from: "monorepo" },
  ],
  next: [
    { from: "service", only: ["src/greeter.service.ts"] },
    // Next's bundler resolves imports literally, so imports of TypeScript files have no extension.
    { from: "service", only: GREETER, replace: { '.js"': '"' } },
    { from: "next" },
  ],
};

export const TEMPLATES: readonly string[] = Object.keys(LAYERS);

const FOLDER = fileURLToPath(new URL("../../templates", import.meta.url));

export interface Manifest {
  name?: string;
  type?: string;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  [field: string]: unknown;
}

/**
 * Returns the files of a template, by path. `name` is the name of the new project, and `version` the version of the
 * packages that it depends on. `forPnpm` adds pnpm's settings.
 */
export function templateFiles(template: string, name: string, version: string, forPnpm: boolean): Map<string, string> {
  const files = new Map<string, string>();
  const layers: readonly Layer[] = [...(LAYERS[template] ?? []), ...(forPnpm ? [{ from: "pnpm" }] : [])];
  for (const { from, only, to = "", replace = {} } of layers) {
    for (const path of only ?? filesIn(join(FOLDER, from))) {
      const target = [to, named(path)].filter(Boolean).join("/");
      const written = readFileSync(join(FOLDER, from, path), "utf8").replaceAll("{{name}}", name);
      const text = replaced(written, replace);
      files.set(target, isManifest(target) ? manifestText(files.get(target), text, version) : text);
    }
  }
  return files;
}

function replaced(text: string, replace: Readonly<Record<string, string>>): string {
  return Object.entries(replace).reduce((changed, [before, after]) => changed.replaceAll(before, after), text);
}

/**
 * Returns the path of a template file in the new project. Templates use other names for .gitignore, which npm leaves
 * out of packages, and for package.json, which npm would treat as a package.
 */
function named(path: string): string {
  return path.replace(/(^|\/)_gitignore$/, "$1.gitignore").replace(/(^|\/)_package\.json$/, "$1package.json");
}

export function isManifest(path: string): boolean {
  return path === "package.json" || path.endsWith("/package.json");
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath ?? entry.path, entry.name)
        .slice(folder.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort();
}

function manifestText(before: string | undefined, text: string, version: string): string {
  const { scripts, dependencies, devDependencies, ...otherFields } = JSON.parse(text) as Manifest;
  const { scripts: s = {}, dependencies: d = {}, devDependencies: dev = {}, ...first } = parsed(before);
  const merged: Manifest = {
    ...first,
    ...otherFields,
    scripts: { ...s, ...scripts },
    dependencies: sorted({ ...d, ...dependencies }, version),
    devDependencies: sorted({ ...dev, ...devDependencies }, version),
  };
  for (const field of ["scripts", "dependencies", "devDependencies"] as const) {
    if (Object.keys(merged[field] ?? {}).length === 0) delete merged[field];
  }
  return formatManifest(merged);
}

function parsed(text: string | undefined): Manifest {
  return text === undefined ? {} : (JSON.parse(text) as Manifest);
}

/** Sorts dependencies as package managers do, and replaces the version "*" with this command's version. */
function sorted(dependencies: Record<string, string>, version: string): Record<string, string> {
  const entries = Object.entries(dependencies).map(([name, range]) => [name, range === "*" ? version : range] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function formatManifest(manifest: Manifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}
