import type { CallOptions, Session } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { describedMethod, type JsonSchema, timingsMethods, valueOf } from "@quicrpc/services";
import { InvalidArgumentError } from "commander";
import { describedServices, detailsOf, findService, missing } from "./described-services.js";

/** A method of a running server, and how JSON becomes what it takes. */
export interface FoundMethod {
  readonly method: AnyMethod;
  /** JSON Schema of the message that it takes, of a stream one item; undefined where it is not known. */
  readonly inputSchema: JsonSchema | undefined;
  /** Converts JSON as one types it: times, bytes in base64 and big integers become what the schema says. */
  readonly toInput: (json: unknown) => unknown;
  /** Converts what the method gives to the types that its schema says, which the wire does not always tell: of a small number whether it is a big integer. */
  readonly toOutput: (value: unknown) => unknown;
  /** The server's method that tells where the time of calls went; undefined where it has none. */
  readonly timingsOf: AnyMethod | undefined;
}

/** Returns a method of a running server, as `describedServices` has it. Rejects with `RpcError` where there is none. */
export async function findMethod(
  session: Session,
  serviceName: string,
  name: string,
  options: CallOptions,
  given: Parameters<typeof describedServices>[2],
): Promise<FoundMethod> {
  const described = await describedServices(session, options, given);
  const service = findService(described, serviceName);
  const method = service.methods.find((one) => one.name === name);
  if (method === undefined) throw missing(serviceName, "method", name, service.methods);
  const hasSchema = method.takes === "value" || method.gives === "value";
  const details = hasSchema ? (await detailsOf(described, serviceName, options)).get(name) : undefined;
  const timings = timingsMethods.of;
  const tellsTimings = described.services.some((one) => one.name === timings.service.name);
  return {
    method: describedMethod(service, method),
    inputSchema: details?.input,
    toInput: converter(details?.input),
    toOutput: converter(details?.output),
    timingsOf: tellsTimings ? timings : undefined,
  };
}

function converter(schema: JsonSchema | undefined): (value: unknown) => unknown {
  return schema === undefined ? (value) => value : (value) => valueOf(value, schema);
}

/** Whether the caller of a method sends a stream of items. */
export function takesItems({ kind }: Pick<AnyMethod, "kind">): boolean {
  return kind === "client_stream" || kind === "duplex";
}

/** An argument `service/method`. */
export function parseMethod(text: string): [string, string] {
  const [service, method, ...more] = text.split("/");
  if (!service || !method || more.length > 0) throw new InvalidArgumentError(`It takes service/method${meant(text)}`);
  return [service, method];
}

/** As of "shop.v1.Orders.get", which other commands take. */
function meant(text: string): string {
  const dotted = /^(\w+(?:\.\w+)*)\.(\w+)$/.exec(text);
  return dotted === null ? ", such as shop.v1.Orders/get." : `: did you mean ${dotted[1]}/${dotted[2]}?`;
}
