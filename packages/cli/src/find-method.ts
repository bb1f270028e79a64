import type { CallOptions, Session } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { describedMethod, isBatch, type JsonSchema, timingsMethods, valueOf } from "@quicrpc/services";
import { InvalidArgumentError } from "commander";
import { describedServices, detailsOf, findService, missing } from "./described-services.js";

/** A method of a server, with functions that convert its input and output from and to JSON. */
export interface RemoteMethod {
  readonly method: AnyMethod;
  /** JSON Schema of the input, or of one item if the input is a stream. Undefined if it is not known. */
  readonly inputSchema: JsonSchema | undefined;
  /**
   * Converts JSON that the user has typed to an input: text becomes dates, bytes or big integers where the schema
   * requires them.
   */
  readonly toInput: (json: unknown) => unknown;
  /**
   * Converts an output to the types in its schema. The wire format does not distinguish all types, for example small
   * numbers and big integers.
   */
  readonly toOutput: (value: unknown) => unknown;
  /**
   * Method of the server that reports how long each part of a call took. Undefined if the server has none, and for a
   * batch, because its calls have the same name as the batch.
   */
  readonly timingsOf: AnyMethod | undefined;
}

export async function findMethod(
  session: Session,
  serviceName: string,
  name: string,
  options: CallOptions,
  target: Parameters<typeof describedServices>[2],
): Promise<RemoteMethod> {
  const described = await describedServices(session, options, target);
  const service = findService(described, serviceName);
  const method = service.methods.find((candidate) => candidate.name === name);
  if (method === undefined) throw missing(serviceName, "method", name, service.methods);
  const hasSchema = method.takes === "value" || method.gives === "value";
  const details = hasSchema ? (await detailsOf(described, serviceName, options)).get(name) : undefined;
  const timings = timingsMethods.of;
  const descriptor = describedMethod(service, method);
  const tellsTimings = described.services.some((candidate) => candidate.name === timings.service.name);
  return {
    method: descriptor,
    inputSchema: details?.input,
    toInput: converter(details?.input),
    toOutput: converter(details?.output),
    timingsOf: tellsTimings && !isBatch(descriptor) ? timings : undefined,
  };
}

function converter(schema: JsonSchema | undefined): (value: unknown) => unknown {
  return schema === undefined ? (value) => value : (value) => valueOf(value, schema);
}

export function parseMethod(text: string): [string, string] {
  const [service, method, ...more] = text.split("/");
  if (!service || !method || more.length > 0)
    throw new InvalidArgumentError(`It takes service/method${suggestion(text)}`);
  return [service, method];
}

/** Returns a correction for an argument that uses a dot instead of a slash, such as "shop.v1.Orders.get". */
function suggestion(text: string): string {
  const dotted = /^(\w+(?:\.\w+)*)\.(\w+)$/.exec(text);
  return dotted === null ? ", such as shop.v1.Orders/get." : `: did you mean ${dotted[1]}/${dotted[2]}?`;
}
