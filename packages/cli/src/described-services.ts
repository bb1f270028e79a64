import { dirname, relative, resolve } from "node:path";
import type { Diagnostic, SchemaRun } from "@quicrpc/codegen";
import { type Caller, type CallOptions, createLocalCaller, type Router, RpcError } from "@quicrpc/core";
import { nearest } from "@quicrpc/core/internal";
import { createReflectionClient, type MethodDetails, type ServiceDescription } from "@quicrpc/services";
import { printNotice, type TargetOptions } from "./target.js";

export interface DescribedServices {
  readonly services: readonly ServiceDescription[];
  readonly reflection: Caller;
  readonly source: "the server" | "this project" | "--schema";
}

/**
 * Returns the services of a server that can be called. The descriptions come from the schemas in the option `schema`,
 * otherwise from the server's reflection. If the server has no reflection or refuses it, they come from the project in
 * the current directory, and a note on stderr says so. Rejects with `RpcError` if there are no descriptions at all.
 */
export async function describedServices(
  server: Caller,
  options: CallOptions,
  { schema, json = false }: Pick<TargetOptions, "schema" | "json">,
): Promise<DescribedServices> {
  const local = async (
    { reflection: router }: ProjectReflection,
    source: DescribedServices["source"],
  ): Promise<DescribedServices> => {
    const reflection = createLocalCaller([router]);
    return { services: await listServices(reflection, options), reflection, source };
  };
  if (schema !== undefined) return local(await schemaReflection(schema), "--schema");
  try {
    return { services: await listServices(server, options), reflection: server, source: "the server" };
  } catch (error) {
    if (!isWithoutReflection(error)) throw error;
    return local(await projectReflection(error, json), "this project");
  }
}

export interface ProjectReflection {
  readonly reflection: Router;
  readonly run: SchemaRun | undefined;
}

async function schemaReflection(files: readonly string[]): Promise<ProjectReflection> {
  const { loadProjectServices, reflectionOf } = await import("./project-services.js");
  const cwd = process.cwd();
  const paths = files.map((file) => resolve(cwd, file));
  // Uses the packages, ids and settings of the project that contains the schemas. A path may be a glob pattern.
  const folder = dirname(`${paths[0]?.split(/[*?[{]/, 1)[0]}*`);
  const { services, diagnostics, run } = await loadProjectServices(paths, folder);
  if (services !== undefined) return { reflection: reflectionOf(services), run };
  const [{ file, line, message, help } = { message: "it has no services" } as Partial<Diagnostic>] = diagnostics;
  const location = [file === undefined ? files.join(", ") : relative(cwd, file), line];
  throw new RpcError(
    "failed_precondition",
    `--schema ${location.filter((part) => part !== undefined).join(":")}: ${message}`,
    {
      hint: help,
    },
  );
}

/**
 * Returns reflection of the project in the current directory, and names its schemas on stderr. If the project has no
 * services or its schemas have errors, rejects with `error` and advice.
 */
export async function projectReflection(error: RpcError, json: boolean): Promise<ProjectReflection> {
  const { loadProjectServices, reflectionOf } = await import("./project-services.js");
  const cwd = process.cwd();
  const { services = [], diagnostics = [], run } = await loadProjectServices([], cwd);
  if (services.length === 0) {
    const [problem] = diagnostics;
    const reason = problem === undefined ? "" : ` (${problem.message})`;
    const advice = `run this command in the project with the server's schemas${reason}, or pass them with --schema <file>`;
    const hint = error.hint === undefined ? `without reflection, ${advice}` : `${error.hint}; or ${advice}`;
    throw new RpcError(error.code, error.message, { hint });
  }
  const all = (run?.files ?? []).flatMap(({ schema }) => (schema === undefined ? [] : [relative(cwd, schema.file)]));
  const files = [...new Set(all)];
  const listed = files.slice(0, MAX_SHOWN).join(", ");
  const more = files.length > MAX_SHOWN ? ` and ${files.length - MAX_SHOWN} more` : "";
  const reason =
    error.code === "unimplemented"
      ? "The server has no reflection"
      : `The server refuses its reflection (${error.code})`;
  printNotice({ notice: `${reason}: using the schemas of this project, ${listed}${more}.` }, json);
  return { reflection: reflectionOf(services), run };
}

const MAX_SHOWN = 3;
const NO_REFLECTION = "the server has no reflection";

/** Returns true if an error states that a server has no reflection, or refuses it to this client. */
export function isWithoutReflection(error: unknown): error is RpcError {
  if (!(error instanceof RpcError)) return false;
  return error.message.startsWith(NO_REFLECTION) || ["unauthenticated", "permission_denied"].includes(error.code);
}

export async function listServices(server: Caller, options: CallOptions): Promise<readonly ServiceDescription[]> {
  try {
    return (await createReflectionClient(server).list(options)).services;
  } catch (error) {
    const { code, message } = RpcError.from(error);
    if (code !== "unimplemented") throw error;
    const advice = "mount it: serve({ routers: [...routers, createReflection(routers)] }), of @quicrpc/services";
    throw new RpcError(code, `${NO_REFLECTION}, so its services are unknown`, {
      cause: new Error(message),
      hint: advice,
    });
  }
}

export function findService({ services, source }: DescribedServices, name: string): ServiceDescription {
  const service = services.find((candidate) => candidate.name === name);
  if (service !== undefined) return service;
  throw missing(source, "service", name, services);
}

const MAX_LISTED = 20;

/** Creates the error for an unknown name. The message suggests a similar name and lists the known names. */
export function missing(
  where: string,
  kind: "service" | "method",
  name: string,
  known: readonly { readonly name: string }[],
): RpcError {
  const names = known.map((entry) => entry.name);
  // Compares only the last part of the name, because all names have the other parts in common.
  const edits = Math.max(1, Math.floor((name.split(".").at(-1) ?? "").length / 3));
  const similar =
    nearest(name, names, edits) ??
    names.find((candidate) => candidate.toLowerCase().endsWith(`.${name.toLowerCase()}`));
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : "";
  const suggestion = similar === undefined ? "" : `: did you mean ${similar}?`;
  const has = `it has ${names.slice(0, MAX_LISTED).join(", ")}${more}`;
  return new RpcError(
    "unimplemented",
    `${where} has no ${kind} ${name}${suggestion === "" ? "; " : `${suggestion} `}${has}`,
  );
}

/**
 * Returns comments and schemas of a service's methods, by method name. Empty if the server did not generate the
 * service's code.
 */
export async function detailsOf(
  { reflection }: DescribedServices,
  service: string,
  options: CallOptions,
): Promise<ReadonlyMap<string, MethodDetails>> {
  try {
    const { methods } = await createReflectionClient(reflection).describe({ service }, options);
    return new Map(methods.map((details) => [details.name, details]));
  } catch (error) {
    if (RpcError.from(error).code !== "not_found") throw error;
    return new Map();
  }
}
