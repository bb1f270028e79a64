import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, sep } from "node:path";
import {
  type Diagnostic,
  findProject,
  ModuleLoader,
  runProject,
  type SchemaRun,
  writeGenerated,
} from "@quicrpc/codegen";
import { createLocalCaller, type Router, type ServiceSchema } from "@quicrpc/core";
import { type AnyMethod, createRouter } from "@quicrpc/core/generated";
import { isServiceSchema } from "@quicrpc/core/internal";
import { createReflection, createReflectionClient, describeServices, reflectionMethods } from "@quicrpc/services";

export interface ProjectService {
  readonly schema: ServiceSchema;
  readonly methods: Readonly<Record<string, AnyMethod>>;
}

/**
 * Services of the project around `cwd`, or of the schemas that match `patterns`, with the run that produced them.
 * Contains diagnostics if the schemas are invalid.
 */
export type ProjectServices = { readonly run?: SchemaRun } & (
  | { readonly services: readonly ProjectService[]; readonly diagnostics?: never }
  | { readonly services?: never; readonly diagnostics: readonly Diagnostic[] }
);

/** Maximum number of folders that are searched if no configuration names the schemas. */
const MAX_FOLDERS = 5000;
const moduleCache = createRequire(import.meta.url).cache;

/**
 * Generates the project's code into a cache folder in node_modules, and loads it. Ids come from the project's lock
 * file. Writes nothing else to the project.
 */
export async function loadProjectServices(
  patterns: readonly string[],
  cwd: string,
  config?: string,
): Promise<ProjectServices> {
  const project = await findProject(cwd, config);
  if ("problem" in project) return { diagnostics: [project.problem] };
  const out = join(cacheOf(project.root), createHash("sha256").update(project.root).digest("hex").slice(0, 12));
  const options = {
    out,
    target: "both",
    links: false,
    importExtension: "none",
    maxFolders: MAX_FOLDERS,
    ...(config !== undefined && { config }),
  } as const;
  const run = await runProject(patterns, options, cwd);
  const { diagnostics, files } = run;
  if (diagnostics.length > 0) return { run, diagnostics };
  const generated = files.filter(({ path }) => path.startsWith(out + sep));
  writeGenerated(generated);
  // Drops modules generated from schemas that may have changed.
  for (const path of Object.keys(moduleCache)) if (path.startsWith(out + sep)) delete moduleCache[path];
  const loader = new ModuleLoader();
  try {
    const services: ProjectService[] = [];
    for (const { path, schema } of generated) {
      if (schema === undefined) continue;
      const [declared, generatedModule] = [await loader.load(schema.file), await loader.load(path)];
      if (declared.problem !== undefined) return { run, diagnostics: [declared.problem] };
      if (generatedModule.problem !== undefined) return { run, diagnostics: [generatedModule.problem] };
      services.push(...servicesOf(declared.exports, generatedModule.exports));
    }
    return { run, services };
  } finally {
    loader.dispose();
  }
}

/**
 * Returns a reflection service for these services, which is used for a server without reflection. It does not list
 * itself.
 */
export function reflectionOf(services: readonly ProjectService[]): Router {
  // These handlers are never called: reflection only reads the methods.
  const handler = (): void => {};
  const routers = services.map(({ methods }) => ({
    methods: Object.values(methods).map((method) => ({ method, handler })),
  }));
  const reflection = createReflectionClient(createLocalCaller([createReflection(routers)]));
  return createRouter(reflectionMethods, {
    list: () => ({ services: describeServices(routers) }),
    describe: (input) => reflection.describe(input),
  });
}

function cacheOf(root: string): string {
  for (let directory = root; ; directory = dirname(directory)) {
    const packages = join(directory, "node_modules");
    if (existsSync(packages)) return join(packages, ".cache/quicrpc");
    if (directory === dirname(directory)) return join(root, "node_modules/.cache/quicrpc");
  }
}

function servicesOf(
  declared: Readonly<Record<string, unknown>>,
  generatedModule: Readonly<Record<string, unknown>>,
): ProjectService[] {
  const named = (name: string): unknown =>
    Object.entries(generatedModule).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  return Object.entries(declared).flatMap(([name, schema]) => {
    if (!isServiceSchema(schema)) return [];
    const methods = named(`${name}Methods`) as ProjectService["methods"] | undefined;
    return methods === undefined ? [] : [{ schema, methods }];
  });
}
