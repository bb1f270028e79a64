import { relative } from "node:path";
import type { SchemaRun } from "@quicrpc/codegen";
import { type Caller, type CallOptions, createLocalCaller, printable, type Router, RpcError } from "@quicrpc/core";
import { createReflectionClient, type MethodDetails, type ServiceDescription } from "@quicrpc/services";

/** Services of a server, and the caller that describes their methods. */
export interface DescribedServices {
  readonly services: readonly ServiceDescription[];
  /** Serves reflection. */
  readonly reflection: Caller;
  /** Source of the descriptions. */
  readonly by: "the server" | "this project";
}

/**
 * Returns what a server serves, by its reflection; where it has none, what the schemas of the project have that the command is run in, and says so on
 * stderr. Rejects with `RpcError` where there are none either.
 */
export async function describedServices(server: Caller, options: CallOptions): Promise<DescribedServices> {
  try {
    return { services: await listServices(server, options), reflection: server, by: "the server" };
  } catch (error) {
    if (!isWithoutReflection(error)) throw error;
    const reflection = createLocalCaller([(await projectReflection(error)).reflection]);
    return { services: await listServices(reflection, options), reflection, by: "this project" };
  }
}

/** Reflection of the project that a command is run in, and what it was made of. */
export interface ProjectReflection {
  readonly reflection: Router;
  readonly run: SchemaRun | undefined;
}

/** Returns reflection of the project that the command is run in, and says on stderr of which schemas. Rejects with `error`, and advice, where it has no services, or wrong schemas. */
export async function projectReflection(error: RpcError): Promise<ProjectReflection> {
  const { loadProjectServices, reflectionOf } = await import("./project-services.js");
  const cwd = process.cwd();
  const { services = [], diagnostics = [], run } = await loadProjectServices([], cwd);
  if (services.length === 0) {
    const [problem] = diagnostics;
    const reason = problem === undefined ? "" : ` (${problem.message})`;
    throw new RpcError(
      "unimplemented",
      `${error.message}; or run this in the project whose schemas it serves${reason}`,
    );
  }
  const all = (run?.files ?? []).flatMap(({ schema }) => (schema === undefined ? [] : [relative(cwd, schema.file)]));
  const files = [...new Set(all)];
  const shown = files.slice(0, MAX_SHOWN).join(", ");
  const more = files.length > MAX_SHOWN ? ` and ${files.length - MAX_SHOWN} more` : "";
  process.stderr.write(
    `The server has no reflection: services are those of this project's schemas, ${printable(shown)}${more}.\n`,
  );
  return { reflection: reflectionOf(services), run };
}

/** Schema modules that are named. */
const MAX_SHOWN = 3;
const NO_REFLECTION = "the server has no reflection";

/** Whether an error says that a server has no reflection. */
export function isWithoutReflection(error: unknown): error is RpcError {
  return error instanceof RpcError && error.message.startsWith(NO_REFLECTION);
}

/** Returns all services of a running server. Rejects with `RpcError` where it has no reflection. */
export async function listServices(server: Caller, options: CallOptions): Promise<readonly ServiceDescription[]> {
  try {
    return (await createReflectionClient(server).list(options)).services;
  } catch (error) {
    const { code, message } = RpcError.from(error);
    if (code !== "unimplemented") throw error;
    const advice = "mount it: serve({ routers: [...routers, createReflection(routers)] }), of @quicrpc/services";
    throw new RpcError(code, `${NO_REFLECTION}, which says what it serves (${advice})`, {
      cause: new Error(message),
    });
  }
}

/** Returns a service by its name. Throws `RpcError` where there is none of it. */
export function findService({ services, by }: DescribedServices, name: string): ServiceDescription {
  const service = services.find((one) => one.name === name);
  if (service !== undefined) return service;
  const served = services.map((one) => one.name).join(", ");
  throw new RpcError("unimplemented", `${by} has no service ${name}; it has ${served}`);
}

/** Returns comments and schemas of a service's methods, by name; none where its code is not generated. */
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
