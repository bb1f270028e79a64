import type { AnyMethod } from "@quicrpc/core/generated";
import { type CallOptions, RpcError, type Session } from "@quicrpc/core";
import { createReflectionClient, describedMethod } from "@quicrpc/services";
import { InvalidArgumentError } from "commander";

/** Returns a method that the server's reflection service describes. Rejects with `RpcError` where there is none. */
export async function findMethod(
  session: Session,
  serviceName: string,
  name: string,
  options: CallOptions,
): Promise<AnyMethod> {
  const { services } = await createReflectionClient(session).list(options);
  const service = services.find((one) => one.name === serviceName);
  if (service === undefined) {
    const served = services.map((one) => one.name).join(", ");
    throw new RpcError("unimplemented", `the server has no service ${serviceName}; it serves ${served}`);
  }
  const method = service.methods.find((one) => one.name === name);
  if (method === undefined) {
    const served = service.methods.map((one) => one.name).join(", ");
    throw new RpcError("unimplemented", `${serviceName} has no method ${name}; it has ${served}`);
  }
  return describedMethod(service, method);
}

/** An argument `service/method`. */
export function parseMethod(text: string): [string, string] {
  const [service, method, ...more] = text.split("/");
  if (!service || !method || more.length > 0) throw new InvalidArgumentError("It takes service/method.");
  return [service, method];
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`It takes JSON: ${(error as Error).message}.`);
  }
}
