import { readFileSync } from "node:fs";
import { type CallOptions, RpcError, type Session } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import {
  createReflectionClient,
  describedMethod,
  type MethodDetails,
  type ServiceDescription,
  valueOf,
} from "@quicrpc/services";
import { InvalidArgumentError } from "commander";

const NO_REFLECTION = "the server has no reflection";

/** A method of a running server, and how JSON becomes what it takes. */
export interface FoundMethod {
  readonly method: AnyMethod;
  /** Converts JSON as one types it: times, bytes in base64 and big integers become what the schema says. */
  readonly toInput: (json: unknown) => unknown;
}

/** Returns a method that the server's reflection service describes. Rejects with `RpcError` where there is none. */
export async function findMethod(
  session: Session,
  serviceName: string,
  name: string,
  options: CallOptions,
): Promise<FoundMethod> {
  let service: ServiceDescription;
  try {
    service = await findService(session, serviceName, options);
  } catch (error) {
    if (!isWithoutReflection(error)) throw error;
    const own = await methodOfProject(serviceName, name);
    if (own === undefined) {
      throw new RpcError("unimplemented", `${error.message}; or run this in the project whose schemas it serves`);
    }
    process.stderr.write("The server has no reflection: the method is that of this project's schemas.\n");
    return own;
  }
  const method = service.methods.find((one) => one.name === name);
  if (method === undefined) {
    const served = service.methods.map((one) => one.name).join(", ");
    throw new RpcError("unimplemented", `${serviceName} has no method ${name}; it has ${served}`);
  }
  const schema =
    method.takes === "value" ? (await detailsOf(session, serviceName, options)).get(name)?.input : undefined;
  return {
    method: describedMethod(service, method),
    toInput: schema === undefined ? (json) => json : (json) => valueOf(json, schema),
  };
}

/** Returns a method of the project that the command is run in; undefined where it has none of this name, or its schemas are wrong. */
async function methodOfProject(service: string, name: string): Promise<FoundMethod | undefined> {
  const { loadProjectServices } = await import("./project-services.js");
  const { services = [] } = await loadProjectServices([], process.cwd());
  const method = services.find(({ schema }) => schema.name === service)?.methods[name];
  if (method === undefined) return undefined;
  const schema = (await method.service.tooling?.())?.methods[name]?.input;
  return { method, toInput: schema === undefined ? (json) => json : (json) => valueOf(json, schema) };
}

/** Whether an error says that a server has no reflection. */
function isWithoutReflection(error: unknown): error is RpcError {
  return error instanceof RpcError && error.message.startsWith(NO_REFLECTION);
}

/** Returns a service of a running server. Rejects with `RpcError` where it serves no such, or has no reflection. */
export async function findService(session: Session, name: string, options: CallOptions): Promise<ServiceDescription> {
  const services = await listServices(session, options);
  const service = services.find((one) => one.name === name);
  if (service !== undefined) return service;
  const served = services.map((one) => one.name).join(", ");
  throw new RpcError("unimplemented", `the server has no service ${name}; it serves ${served}`);
}

/** Returns all services of a running server. Rejects with `RpcError` where it has no reflection. */
export async function listServices(session: Session, options: CallOptions): Promise<readonly ServiceDescription[]> {
  try {
    return (await createReflectionClient(session).list(options)).services;
  } catch (error) {
    const { code, message } = RpcError.from(error);
    if (code !== "unimplemented") throw error;
    const advice = "mount it: serve({ routers: [...routers, createReflection(routers)] }), of @quicrpc/services";
    throw new RpcError(code, `${NO_REFLECTION}, which says what it serves (${advice})`, {
      cause: new Error(message),
    });
  }
}

/** Returns comments and schemas of a service's methods, by name; none where its code is not generated. */
export async function detailsOf(
  session: Session,
  service: string,
  options: CallOptions,
): Promise<ReadonlyMap<string, MethodDetails>> {
  try {
    const { methods } = await createReflectionClient(session).describe({ service }, options);
    return new Map(methods.map((details) => [details.name, details]));
  } catch (error) {
    if (RpcError.from(error).code !== "not_found") throw error;
    return new Map();
  }
}

/** An argument `service/method`. */
export function parseMethod(text: string): [string, string] {
  const [service, method, ...more] = text.split("/");
  if (!service || !method || more.length > 0) throw new InvalidArgumentError("It takes service/method.");
  return [service, method];
}

/** An argument that is JSON, `@file` with JSON in it, or `-`, which is standard input. */
export function parseInput(text: string): unknown {
  try {
    if (text === "-") return JSON.parse(readFileSync(0, "utf8"));
    return JSON.parse(text.startsWith("@") ? readFileSync(text.slice(1), "utf8") : text);
  } catch (error) {
    throw new InvalidArgumentError(`It takes JSON, @file or -: ${(error as Error).message}.`);
  }
}
