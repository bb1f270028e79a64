import { CODE_NAMES } from "../protocol/codes.js";
import { blobPathsOf } from "./blob-operations.js";
import { Components, ERROR, pascal } from "./components.js";
import { operationsOf } from "./operations.js";
import type { DescribedMethod, DescribedService, JsonSchema, OpenApiOptions } from "./source.js";

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = Readonly<Record<string, unknown>>;

/** Creates the OpenAPI 3.1 document of services, as clients call them over HTTP in JSON. */
export function openApiDocument(services: readonly DescribedService[], options: OpenApiOptions = {}): OpenApiDocument {
  const { info = { title: "Services", version: "0.0.0" }, servers = [{ url: "/" }], securitySchemes = {} } = options;
  const schemes = Object.keys(securitySchemes);
  const components = new Components();
  components.add(errorSchema, ERROR);
  const prefixes = prefixesOf(services);
  const paths: Record<string, unknown> = {};
  for (const service of services) {
    for (const method of service.methods) {
      const name = `${prefixes.get(service)}${pascal(method.name)}`;
      const path = `/${service.name}/${method.name}`;
      const items = {
        [path]: operationsOf(service, method, name, components),
        ...blobPathsOf(method, path, name, service.name, components),
      };
      for (const [at, operations] of Object.entries(items)) paths[at] = withSecurity(operations, method, schemes);
    }
  }
  return {
    openapi: "3.1.0",
    info,
    servers,
    tags: services.map(({ name, docs }) => ({ name, ...(docs !== undefined && { description: docs }) })),
    security: schemes.map((scheme) => ({ [scheme]: [] })),
    paths,
    components: { schemas: components.schemas, ...(schemes.length > 0 && { securitySchemes }) },
  };
}

/**
 * Adds security requirements to a method's operations, if its `meta` declares some for `authorize` of `@quicrpc/core`.
 */
function withSecurity(operations: JsonSchema, { meta }: DescribedMethod, schemes: readonly string[]): JsonSchema {
  const { auth, scopes } = (meta ?? {}) as { readonly auth?: unknown; readonly scopes?: unknown };
  const isPublic = auth === "public";
  if (schemes.length === 0 || (!isPublic && !Array.isArray(scopes))) return operations;
  const security = isPublic ? [] : schemes.map((scheme) => ({ [scheme]: scopes }));
  return Object.fromEntries(
    Object.entries(operations).map(([verb, each]) => [
      verb,
      verb === "parameters" ? each : { ...(each as object), security },
    ]),
  );
}

/**
 * Returns the prefix of the operation and message names of each service: the last part of the service's name if it is
 * unique, otherwise the whole name.
 */
function prefixesOf(services: readonly DescribedService[]): ReadonlyMap<DescribedService, string> {
  const short = (name: string): string => pascal(name.slice(name.lastIndexOf(".") + 1));
  const counts = new Map<string, number>();
  for (const { name } of services) counts.set(short(name), (counts.get(short(name)) ?? 0) + 1);
  return new Map(
    services.map((service) => {
      const { name } = service;
      return [service, counts.get(short(name)) === 1 ? short(name) : pascal(name)];
    }),
  );
}

const errorSchema: JsonSchema = {
  type: "object",
  description: "Why a call failed.",
  properties: {
    code: { type: "string", enum: CODE_NAMES },
    message: { type: "string" },
    details: {
      type: "array",
      items: {
        type: "object",
        properties: {
          type: { type: "string" },
          value: { type: "string", contentEncoding: "base64" },
          debug: {},
        },
        required: ["type", "value"],
      },
    },
  },
  required: ["code"],
};
