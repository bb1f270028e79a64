import { type AnyMethod, defineMethod, type MessageCodec, uncheckedCodec, bytesCodec } from "@quicrpc/core/generated";
import { type CallOptions, RpcError, type Session } from "@quicrpc/core";
import { createReflectionClient, type MethodDescription } from "@quicrpc/services";
import { InvalidArgumentError } from "commander";

/**
 * A method as the server's reflection service describes it, without its schema: values travel as they are, and the server
 * validates. Rejects with `RpcError` where there is none.
 */
export async function describedMethod(
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
  const input = codecOf(method.takes);
  const output = codecOf(method.gives);
  const messages = { ...(input !== undefined && { input }), ...(output !== undefined && { output }) };
  const { id, kind, idempotent } = method;
  return defineMethod({ name: service.name, id: service.id }, kind, name, { id, idempotent, ...messages });
}

function codecOf(form: MethodDescription["takes"]): MessageCodec<unknown> | undefined {
  if (form === "nothing") return undefined;
  return form === "bytes" ? bytesCodec : uncheckedCodec();
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
