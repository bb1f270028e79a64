import type { CallOptions, RpcError } from "@quicrpc/core";
import type { Caller } from "@quicrpc/core/generated";
import { fullName } from "@quicrpc/core/internal";
import { BYTES_SCHEMA, plainJsonSchema } from "@quicrpc/http/openapi";
import {
  createReflectionClient,
  describedMethod,
  jsonOf,
  type MethodDescription,
  type MethodDetails,
  type ServiceDescription,
  valueOf,
} from "@quicrpc/services";
import { toolMarkOf } from "./meta.js";
import { type JsonSchema, type Tool, type ToolJson, toolsOf, type ToolSource } from "./tool.js";

/**
 * Creates tools from the methods that a server's reflection service describes. Rejects with the server's `RpcError` if
 * it has no reflection, and with `TypeError` if a marked method cannot be a tool.
 */
export async function reflectedTools(caller: Caller, options: CallOptions = {}): Promise<ReadonlyMap<string, Tool>> {
  const reflection = createReflectionClient(caller);
  const { services } = await reflection.list(options);
  const sources = await Promise.all(
    services.map(async (service): Promise<ToolSource[]> => {
      const marked = service.methods.filter((method) => isMarked(service, method));
      if (marked.length === 0) return [];
      const { methods } = await reflection.describe({ service: service.name }, options);
      return marked.map((method) =>
        sourceOf(
          service,
          method,
          methods.find(({ name }) => name === method.name),
        ),
      );
    }),
  );
  return toolsOf(sources.flat());
}

function isMarked(service: ServiceDescription, { meta, name }: MethodDescription): boolean {
  return toolMarkOf(meta, `${service.name}/${name}`) !== undefined;
}

function sourceOf(
  service: ServiceDescription,
  described: MethodDescription,
  details: MethodDetails | undefined,
): ToolSource {
  const method = describedMethod(service, described);
  if (details === undefined)
    throw new TypeError(`${fullName(method)} cannot be a tool: the server has no schema of it`);
  return {
    method,
    docs: details.docs,
    input: sideOf(described.takes, details.input),
    output: sideOf(described.gives, details.output),
    detailsOf: (error: RpcError) => jsonOf(error.details),
  };
}

function sideOf(form: MethodDescription["takes"], schema: JsonSchema = {}): ToolJson | undefined {
  if (form === "nothing") return undefined;
  const ownSchema = form === "bytes" ? BYTES_SCHEMA : schema;
  return {
    schema: plainJsonSchema(ownSchema),
    toJson: (value) => jsonOf(value),
    fromJson: (json) => valueOf(json, ownSchema),
  };
}
