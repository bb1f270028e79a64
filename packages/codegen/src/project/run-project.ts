import { isAbsolute, relative, resolve } from "node:path";
import { generate, type GenerateResult } from "../generate.js";
import { packageOf } from "../packages.js";
import { SNAPSHOT_VERSION } from "../shape/shape.js";
import type { Config } from "./config.js";
import { findSchemaFiles } from "./files.js";
import { findProject, infoOf, lockOf, patternsOf } from "./project.js";

/** Command-line options about the project and its output. They have precedence over the project's configuration. */
export interface ProjectOptions extends Omit<Config, "include" | "exclude" | "lock"> {
  /** Path of the configuration file. Default: the nearest `quicrpc.config.ts`. */
  readonly config?: string;
  /** False to use no lock file, so that ids may change between runs. */
  readonly lock?: boolean;
  /** Maximum number of folders to search for schemas, if the configuration names none. Default: all. */
  readonly maxFolders?: number;
}

/** Result of generating code for a project, before files are written. */
export interface SchemaRun extends GenerateResult {
  readonly root: string;
  /** True if the project has an OpenAPI document, and therefore clients over HTTP. */
  readonly openapi: boolean;
  readonly lockFile: string | undefined;
}

/**
 * Generates code for the schema modules in `given` (paths and globs) or, if there are none, for the whole project that
 * contains `cwd`.
 */
export async function runProject(given: readonly string[], options: ProjectOptions, cwd: string): Promise<SchemaRun> {
  const project = await findProject(cwd, options.config);
  if ("problem" in project) {
    const none = {
      warnings: [],
      files: [],
      stale: [],
      sources: [],
      snapshot: { version: SNAPSHOT_VERSION, services: {} },
      root: cwd,
      openapi: false,
      lockFile: undefined,
    } as const;
    return { diagnostics: [project.problem], ...none };
  }
  const { root, config } = project;
  const all = patternsOf(project, cwd);
  const patterns = given.length > 0 ? { include: given, exclude: [], cwd } : all;
  const maxFolders = config.include === undefined ? options.maxFolders : undefined;
  const found = findSchemaFiles(patterns.include, patterns.cwd, patterns.exclude, maxFolders);
  const path = (option: "out" | "docs" | "openapi" | "proto"): string | undefined => {
    const given = options[option];
    return given === undefined ? config[option] : resolve(cwd, given);
  };
  const [out, docs, openapi, proto] = [path("out"), path("docs"), path("openapi"), path("proto")];
  // Schemas of one package share code. It is generated from all of them, even if only some were requested.
  const packages = new Set(found.files.map(packageOf));
  const others =
    given.length > 0 && found.files.some((file) => isInside(root, file))
      ? findSchemaFiles(all.include, all.cwd, all.exclude, maxFolders).files.filter(
          (file) => out !== undefined || packages.has(packageOf(file)),
        )
      : [];
  const lockFile = options.lock === false ? undefined : lockOf(project);
  const target = options.target ?? config.target;
  const explain = options.explain !== false && config.explain !== false;
  const links = options.links === false ? false : config.links;
  const importExtension = options.importExtension ?? config.importExtension;
  const { files, stale, diagnostics, warnings, sources, snapshot } = await generate({
    files: [...new Set([...found.files, ...others])].sort(),
    only: found.files,
    cwd: root,
    explain,
    complete: given.length === 0 && patterns.cwd === root,
    info: infoOf(project),
    ...(out === undefined ? {} : { out }),
    ...(docs === undefined ? {} : { docs }),
    ...(openapi === undefined ? {} : { openapi }),
    ...(proto === undefined ? {} : { proto }),
    ...(lockFile === undefined ? {} : { lock: lockFile }),
    ...(target === undefined ? {} : { target }),
    ...(links === undefined ? {} : { links }),
    ...(importExtension === undefined ? {} : { importExtension }),
  });
  const problems = [...found.diagnostics, ...diagnostics];
  const made = problems.length > 0 ? { files: [], stale: [] } : { files, stale };
  return {
    diagnostics: problems,
    warnings,
    ...made,
    sources,
    snapshot,
    root,
    openapi: openapi !== undefined,
    lockFile,
  };
}

function isInside(folder: string, file: string): boolean {
  const path = relative(folder, file);
  return !path.startsWith("..") && !isAbsolute(path);
}
