import type { CallOptions, Session } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import { describedMethod, type JsonSchema, timingsMethods, valueOf } from "@quicrpc/services";
import { InvalidArgumentError } from "commander";
import { describedServices, detailsOf, findService, missing } from "./described-services.js";

/** A method of a running server, with conversions from and to JSON. */
export interface RemoteMethod {
  readonly method: AnyMethod;
  /** JSON Schema of the input, or of one item of a stream; undefined if it is not known. */
  readonly inputSchema: JsonSchema | undefined;
  /** Converts typed JSON: dates, bytes in base64 and big integers become what the schema declares. */
  readonly toInput: (json: unknown) => unknown;
  /**
   * Converts output to the types in the schema. The wire does not distinguish all of them, for example small numbers
   * and big integers.
   */
  readonly toOutput: (value: unknown) => unknown;
  /** The server's method that reports how long each part of a call took; undefined if it has none. */
  readonly timingsOf: AnyMethod | undefined;
}

/** Returns a method from `describedServices`. Rejects with `RpcError` if it does not exist. */
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
  const tellsTimings = described.services.some((candidate) => candidate.name === timings.service.name);
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

/** Returns true if the caller of a method sends a stream. */
export function takesItems({ kind }: Pick<AnyMethod, "kind">): boolean {
  return kind === "client_stream" || kind === "duplex";
}

/** Parses an argument `service/method`. */
export function parseMethod(text: string): [string, string] {
  const [service, method, ...more] = text.split("/");
  if (!service || !method || more.length > 0)
    throw new InvalidArgumentError(`It takes service/method${suggestion(text)}`);
  return [service, method];
}

/** Returns the spelling with a slash for an argument such as "shop.v1.Orders.get". */
function suggestion(text: string): string {
  const dotted = /^(\w+(?:\.\w+)*)\.(\w+)$/.exec(text);
  return dotted === null ? ", such as shop.v1.Orders/get." : `: did you mean ${dotted[1]}/${dotted[2]}?`;
}
