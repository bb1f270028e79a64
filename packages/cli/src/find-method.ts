import { readFileSync } from "node:fs";
import { type CallOptions, RpcError, type Session } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { describedMethod, valueOf } from "@quicrpc/services";
import { InvalidArgumentError } from "commander";
import { describedServices, detailsOf, findService } from "./described-services.js";

/** A method of a running server, and how JSON becomes what it takes. */
export interface FoundMethod {
  readonly method: AnyMethod;
  /** Converts JSON as one types it: times, bytes in base64 and big integers become what the schema says. */
  readonly toInput: (json: unknown) => unknown;
}

/** Returns a method of a running server, as `describedServices` has it. Rejects with `RpcError` where there is none. */
export async function findMethod(
  session: Session,
  serviceName: string,
  name: string,
  options: CallOptions,
): Promise<FoundMethod> {
  const described = await describedServices(session, options);
  const service = findService(described, serviceName);
  const method = service.methods.find((one) => one.name === name);
  if (method === undefined) {
    const served = service.methods.map((one) => one.name).join(", ");
    throw new RpcError("unimplemented", `${serviceName} has no method ${name}; it has ${served}`);
  }
  const schema =
    method.takes === "value" ? (await detailsOf(described, serviceName, options)).get(name)?.input : undefined;
  return {
    method: describedMethod(service, method),
    toInput: schema === undefined ? (json) => json : (json) => valueOf(json, schema),
  };
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
