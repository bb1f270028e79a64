import { type Router, RpcError } from "@quicrpc/core";
import { type AnyMethod, bytesCodec, type MessageCodec } from "@quicrpc/core/generated";
import { declaredError, fullName } from "@quicrpc/core/internal";
import { jsonCodecOf } from "@quicrpc/http";
import { BYTES_SCHEMA, type JsonSchema, plainJsonSchema } from "@quicrpc/http/openapi";
import { toolMarkOf } from "./meta.js";
import { type Tool, type ToolJson, type ToolSource, toolsOf } from "./tool.js";

/**
 * Creates tools from the marked methods of a router. Rejects with `TypeError` if a marked method cannot be a tool: its
 * code is not generated, or its values cannot be written as JSON.
 */
export async function toolsOfRouter({ methods }: Router<never>): Promise<ReadonlyMap<string, Tool>> {
  const marked = methods.map(({ method }) => method).filter(({ meta, ...method }) => isMarked(meta, method));
  return toolsOf(await Promise.all(marked.map(sourceOf)));
}

function isMarked(meta: AnyMethod["meta"], method: Omit<AnyMethod, "meta">): boolean {
  return toolMarkOf(meta, fullName(method as AnyMethod)) !== undefined;
}

async function sourceOf(method: AnyMethod): Promise<ToolSource> {
  const { service, name } = method;
  const tooling = (await service.tooling?.())?.methods[name];
  if (tooling === undefined) {
    throw new TypeError(
      `${fullName(method)} cannot be a tool: its service has no schemas, since its code is not generated`,
    );
  }
  try {
    return {
      method,
      docs: tooling.docs,
      input: sideOf(method.input, tooling.input),
      output: sideOf(method.output, tooling.output),
      detailsOf: (error) => detailsOf(method, error),
    };
  } catch (error) {
    throw new TypeError(`${fullName(method)} cannot be a tool: ${RpcError.from(error).message}`, { cause: error });
  }
}

function sideOf(codec: MessageCodec<unknown> | undefined, schema: JsonSchema | undefined): ToolJson | undefined {
  if (codec === undefined) return undefined;
  const json = jsonCodecOf(codec);
  return {
    schema: plainJsonSchema((codec as unknown) === bytesCodec ? BYTES_SCHEMA : (schema ?? {})),
    toJson: (value) => JSON.parse(json.write(value)) as unknown,
    fromJson: (value) => json.read(JSON.stringify(value)),
  };
}

function detailsOf(method: AnyMethod, { reason, details }: RpcError): unknown {
  const codec = reason === undefined ? undefined : declaredError(method, reason)?.details;
  return codec === undefined ? undefined : JSON.parse(jsonCodecOf(codec).write(details));
}
