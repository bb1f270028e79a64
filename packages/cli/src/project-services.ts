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
import { type AnyMethod, createRouter, isServiceSchema } from "@quicrpc/core/generated";
import { createReflection, createReflectionClient, describeServices, reflectionMethods } from "@quicrpc/services";

/** A service of the project, with the code that is generated for it. */
export interface ProjectService {
  readonly schema: ServiceSchema;
  readonly methods: Readonly<Record<string, AnyMethod>>;
}

/** The services of the project around `cwd`, or of the schemas that `patterns` names; diagnostics where they are wrong. And what they were made of. */
export type ProjectServices = { readonly run?: SchemaRun } & (
  | { readonly services: readonly ProjectService[]; readonly diagnostics?: never }
  | { readonly services?: never; readonly diagnostics: readonly Diagnostic[] }
);

/** Folders that are looked through where no configuration says where schemas are. */
const MAX_FOLDERS = 5000;
/** Node's own, which modules are loaded by. */
const moduleCache = createRequire(import.meta.url).cache;

/**
 * Generates the project's code beside its packages, in their cache, and loads it: ids are those of its lock. Nothing of the project itself is written.
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
  // What was generated before, of schemas that may have changed since.
  for (const path of Object.keys(moduleCache)) if (path.startsWith(out + sep)) delete moduleCache[path];
  const loader = new ModuleLoader();
  try {
    const services: ProjectService[] = [];
    for (const { path, schema } of generated) {
      if (schema === undefined) continue;
      const [declared, made] = [await loader.load(schema.file), await loader.load(path)];
      if (declared.problem !== undefined) return { run, diagnostics: [declared.problem] };
      if (made.problem !== undefined) return { run, diagnostics: [made.problem] };
      services.push(...servicesOf(declared.exports, made.exports));
    }
    return { run, services };
  } finally {
    loader.dispose();
  }
}

/** Reflection of services, for a server that has none: it does not list itself. */
export function reflectionOf(services: readonly ProjectService[]): Router {
  // Nothing here is called: reflection looks at methods alone.
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

/** The cache folder of the nearest packages. */
function cacheOf(root: string): string {
  for (let directory = root; ; directory = dirname(directory)) {
    const packages = join(directory, "node_modules");
    if (existsSync(packages)) return join(packages, ".cache/quicrpc");
    if (directory === dirname(directory)) return join(root, "node_modules/.cache/quicrpc");
  }
}

function servicesOf(
  declared: Readonly<Record<string, unknown>>,
  made: Readonly<Record<string, unknown>>,
): ProjectService[] {
  const named = (name: string): unknown =>
    Object.entries(made).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
  return Object.entries(declared).flatMap(([name, schema]) => {
    if (!isServiceSchema(schema)) return [];
    const methods = named(`${name}Methods`) as ProjectService["methods"] | undefined;
    return methods === undefined ? [] : [{ schema, methods }];
  });
}
