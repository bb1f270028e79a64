import { type AnyMethod, bytesCodec, type MessageCodec, type MethodTooling } from "@quicrpc/core/generated";
import { jsonCodecOf } from "../json/json-codec.js";
import { type OpenApiDocument, openApiDocument } from "./document.js";
import {
  BYTES_SCHEMA,
  type DescribedMethod,
  type DescribedService,
  type JsonSchema,
  type OpenApiOptions,
} from "./source.js";

/** A router whose methods can be described in an OpenAPI document. */
export interface DescribableRouter {
  readonly methods: readonly { readonly method: AnyMethod }[];
}

/**
 * Creates the OpenAPI 3.1 document of the services of `routers`. Omits methods whose messages plain JSON cannot
 * represent, and services without generated code.
 */
export async function openApiOf(
  routers: readonly DescribableRouter[],
  options?: OpenApiOptions,
): Promise<OpenApiDocument> {
  const services = new Map<string, DescribedService & { readonly methods: DescribedMethod[] }>();
  for (const { method } of routers.flatMap(({ methods }) => methods)) {
    const { name } = method.service;
    const tooling = await method.service.tooling?.();
    const said = tooling?.methods[method.name];
    if (tooling === undefined || said === undefined || !codecsOf(method).every(hasJson)) continue;
    const service = services.get(name) ?? { name, docs: tooling.docs, methods: [] };
    services.set(name, service);
    service.methods.push(describe(method, said));
  }
  return openApiDocument([...services.values()], options);
}

function codecsOf({ input, output }: AnyMethod): MessageCodec<unknown>[] {
  return [input, output].filter((codec) => codec !== undefined);
}

function hasJson(codec: MessageCodec<unknown>): boolean {
  try {
    jsonCodecOf(codec);
    return true;
  } catch {
    return false;
  }
}

function describe(method: AnyMethod, tooling: MethodTooling): DescribedMethod {
  const { name, kind, readOnly, extension, meta, input, output, errors, blobs } = method;
  const schemaOf = (
    codec: MessageCodec<unknown> | undefined,
    schema: JsonSchema | undefined,
  ): JsonSchema | undefined => ((codec as unknown) === bytesCodec ? BYTES_SCHEMA : codec && (schema ?? {}));
  return {
    name,
    kind,
    readOnly,
    blobs: blobs?.fields,
    once: extension?.name === "once",
    docs: tooling.docs,
    meta,
    input: schemaOf(input, tooling.input),
    output: schemaOf(output, tooling.output),
    errors: Object.entries(errors).map(([error, { code }]) => ({
      name: error,
      code,
      details: tooling.errors?.[error],
    })),
  };
}
