import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { nearest } from "@quicrpc/core/internal";
import type { Diagnostic } from "../diagnostics.js";
import type { DocumentInfo } from "../docs/openapi.js";
import { ModuleLoader } from "../load.js";
import { type Config, DEFAULT_PATTERN } from "./config.js";

/** A directory whose services share a configuration and a lock file. */
export interface Project {
  readonly root: string;
  readonly config: Config;
}

const CONFIG_FILES = ["quicrpc.config.ts", "quicrpc.config.mts", "quicrpc.config.js", "quicrpc.config.mjs"];
const DEFAULT_LOCK = "quicrpc.lock.json";

/**
 * Returns the project that contains `cwd`: the nearest directory with a quicrpc.config.ts or a package.json, or `cwd`
 * itself.
 *
 * @param configFile the configuration file to use
 */
export async function findProject(
  cwd: string,
  configFile: string | undefined,
): Promise<Project | { readonly problem: Diagnostic }> {
  if (configFile !== undefined) {
    const file = resolve(cwd, configFile);
    if (existsSync(file)) return loadProject(file);
    return { problem: { code: "file-not-found", file, message: "There is no such file.", help: "Check --config." } };
  }
  for (let directory = cwd; ; directory = dirname(directory)) {
    const file = CONFIG_FILES.map((name) => join(directory, name)).find((each) => existsSync(each));
    if (file !== undefined) return loadProject(file);
    if (existsSync(join(directory, "package.json"))) return { root: directory, config: NO_CONFIG };
    if (directory === dirname(directory)) return { root: cwd, config: NO_CONFIG };
  }
}

/** Returns the project's lock file; undefined if it has none. */
export function lockOf({ root, config }: Project): string | undefined {
  return config.lock === false ? undefined : resolve(root, config.lock ?? DEFAULT_LOCK);
}

/** Returns the patterns for the project's schema modules. Used by commands without arguments that run in `cwd`. */
export function patternsOf(
  { root, config }: Project,
  cwd: string,
): { readonly include: readonly string[]; readonly exclude: readonly string[]; readonly cwd: string } {
  const exclude = [config.exclude ?? []].flat();
  return config.include === undefined
    ? { include: [DEFAULT_PATTERN], exclude, cwd: config === NO_CONFIG ? cwd : root }
    : { include: [config.include].flat(), exclude, cwd: root };
}

const NO_CONFIG: Config = {};

export function infoOf({ root }: Project): DocumentInfo {
  try {
    const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, unknown>;
    return {
      title: typeof name === "string" ? name : basename(root),
      version: typeof version === "string" ? version : "0.0.0",
    };
  } catch {
    return { title: basename(root), version: "0.0.0" };
  }
}

async function loadProject(file: string): Promise<Project | { readonly problem: Diagnostic }> {
  const loader = new ModuleLoader();
  const { exports, problem } = await loader.load(file);
  loader.dispose();
  if (problem !== undefined) return { problem };
  const config = exports["default"] as Config | null | undefined;
  if (typeof config !== "object" || config === null) {
    const help = 'Write export default defineConfig({ … }), with defineConfig from "quicrpc".';
    return { problem: { code: "config", file, message: "This module has no default export that is an object.", help } };
  }
  const unknown = Object.keys(config).find((key) => !KNOWN.has(key));
  if (unknown !== undefined) {
    const near = nearest(unknown, [...KNOWN]);
    const help = `${near === undefined ? "" : `Did you mean ${near}? `}The options are ${[...KNOWN].join(", ")}.`;
    const lines = readFileSync(file, "utf8").split("\n");
    const line = lines.findIndex((each) => each.includes(unknown)) + 1;
    const at = line === 0 ? {} : { line };
    return { problem: { code: "config", file, ...at, message: `${unknown} is not an option.`, help } };
  }
  const notPath = PATHS.find((key) => config[key] !== undefined && typeof config[key] !== "string");
  if (notPath !== undefined) {
    const help = `Write a path, such as ${notPath}: "${notPath}".`;
    return { problem: { code: "config", file, message: `${notPath} is not a path.`, help } };
  }
  return { root: dirname(file), config };
}

const PATHS = ["out", "docs", "openapi", "proto"] as const satisfies readonly (keyof Config)[];

const OPTIONS: { readonly [Option in keyof Required<Config>]: true } = {
  include: true,
  exclude: true,
  out: true,
  importExtension: true,
  target: true,
  explain: true,
  links: true,
  docs: true,
  openapi: true,
  proto: true,
  lock: true,
};
const KNOWN: ReadonlySet<string> = new Set(Object.keys(OPTIONS));
