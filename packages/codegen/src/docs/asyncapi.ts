import type { FileModel, MethodModel } from "../model.js";
import type { JsonSchema } from "../tooling/keywords.js";

/** Fields of a document that concern all services. */
export interface DocumentInfo {
  readonly title: string;
  readonly version: string;
}

/**
 * Prints the services as an AsyncAPI 3 document from the server's point of view: it receives calls and replies. Each
 * method is a channel, with one message for each direction; streams consist of these messages.
 */
export function printAsyncApi(models: readonly FileModel[], info: DocumentInfo): string {
  const schemas: Record<string, unknown> = {};
  const channels: Record<string, unknown> = {};
  const operations: Record<string, unknown> = {};
  for (const { services } of models) {
    for (const { name: service, methods } of services) {
      for (const method of methods) {
        const id = `${service}.${method.name}`;
        channels[id] = channelOf(service, method, id, schemas);
        operations[id] = operationOf(method, id);
      }
    }
  }
  const document = {
    asyncapi: "3.0.0",
    info,
    defaultContentType: "application/msgpack",
    channels,
    operations,
    components: { schemas },
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function channelOf(service: string, method: MethodModel, id: string, schemas: Record<string, unknown>): object {
  const message = (side: "input" | "output"): object => {
    if (method[side]?.codec === "bytesCodec") return { contentType: "application/octet-stream" };
    const schema = method.tooling[side];
    if (schema === undefined) return { payload: { type: "null" } };
    return { payload: hoist(schema, `${id}.${side}`, schemas) };
  };
  return {
    address: `${service}/${method.name}`,
    ...(method.docs === undefined ? {} : { description: method.docs }),
    messages: { input: message("input"), ...(method.kind === "notify" ? {} : { output: message("output") }) },
  };
}

function operationOf({ kind, docs, idempotent, readOnly, once, errors, meta }: MethodModel, id: string): object {
  const channel = { $ref: `#/channels/${id}` };
  const message = (side: string): object => ({ $ref: `#/channels/${id}/messages/${side}` });
  return {
    action: "receive",
    channel,
    ...(docs === undefined ? {} : { summary: docs.split("\n")[0] }),
    messages: [message("input")],
    ...(kind === "notify" ? {} : { reply: { channel, messages: [message("output")] } }),
    "x-quicrpc-kind": kind,
    ...(idempotent ? { "x-quicrpc-idempotent": true } : {}),
    ...(readOnly ? { "x-quicrpc-read-only": true } : {}),
    ...(once ? { "x-quicrpc-once": true } : {}),
    ...(meta === undefined ? {} : { "x-quicrpc-meta": meta }),
    ...(errors.length === 0
      ? {}
      : { "x-quicrpc-errors": Object.fromEntries(errors.map(({ name, code }) => [name, code])) }),
  };
}

/** Adds a schema and its definitions to the document's schemas, and returns a reference to it. */
function hoist(schema: JsonSchema, name: string, schemas: Record<string, unknown>): object {
  const { $defs = {}, ...own } = schema as JsonSchema & { readonly $defs?: Readonly<Record<string, unknown>> };
  const target = (reference: string): string => {
    const definition = /^#\/\$defs\/(.+)$/.exec(reference)?.[1];
    return `#/components/schemas/${definition === undefined ? name : `${name}.${definition}`}`;
  };
  const moved = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(moved)
      : typeof value === "object" && value !== null
        ? Object.fromEntries(
            Object.entries(value).map(([key, each]) => [
              key,
              key === "$ref" && typeof each === "string" ? target(each) : moved(each),
            ]),
          )
        : value;
  schemas[name] = moved(own);
  for (const [definition, value] of Object.entries($defs)) schemas[`${name}.${definition}`] = moved(value);
  return { $ref: `#/components/schemas/${name}` };
}
