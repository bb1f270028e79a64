import {
  BYTES_SCHEMA,
  type DescribedMethod,
  type DescribedService,
  type JsonSchema,
  openApiDocument,
} from "@quicrpc/http/openapi";
import { type Diagnostic, sourcePlaceOf } from "../diagnostics.js";
import type { FileModel, JsonPlace, MessageModel, MethodModel } from "../model.js";

/** Title, version and description of a generated document. */
export interface DocumentInfo {
  readonly title: string;
  readonly version: string;
}

/** Returns the OpenAPI document of the services over HTTP, as JSON. Omits the methods that `jsonWarnings` reports. */
export function printOpenApi(models: readonly FileModel[], info: DocumentInfo): string {
  const services = models.flatMap(({ services }) =>
    services.map(({ name, docs, methods }): DescribedService => {
      const described = methods.filter((method) => problemOf(method) === undefined).map(describe);
      return { name, docs, methods: described };
    }),
  );
  return `${JSON.stringify(openApiDocument(services, { info }), undefined, 2)}\n`;
}

/**
 * Returns warnings about methods whose messages plain JSON cannot represent, so that HTTP clients must use MessagePack
 * for them.
 */
export function jsonWarnings(models: readonly FileModel[]): Diagnostic[] {
  return models.flatMap(({ services, schemaFile }) =>
    services.flatMap((service) =>
      service.methods.flatMap((method): Diagnostic[] => {
        const problem = problemOf(method);
        if (problem === undefined) return [];
        const { path, reason, node } = problem;
        return [
          {
            code: "no-json",
            message: `Plain JSON does not say all of ${reason}: over HTTP this method is called in MessagePack only.`,
            help: "Tell the types apart by objects or a discriminator, write the type, or leave it: other transports carry it.",
            ...(node === undefined ? { file: schemaFile } : sourcePlaceOf(node)),
            service: service.name,
            method: method.name,
            path,
          },
        ];
      }),
    ),
  );
}

function problemOf({ input, output }: MethodModel): JsonPlace | undefined {
  return input?.jsonProblem() ?? output?.jsonProblem();
}

function describe({
  name,
  kind,
  readOnly,
  once,
  blobs,
  docs,
  meta,
  tooling,
  input,
  output,
  errors,
}: MethodModel): DescribedMethod {
  return {
    name,
    kind,
    readOnly,
    once,
    blobs,
    docs,
    meta,
    input: schemaOf(input, tooling.input),
    output: schemaOf(output, tooling.output),
    errors: errors.map(({ name: error, code }) => ({ name: error, code, details: tooling.errors?.[error] })),
  };
}

function schemaOf(message: MessageModel | undefined, schema: JsonSchema | undefined): JsonSchema | undefined {
  return message?.codec === "bytesCodec" ? BYTES_SCHEMA : message && (schema ?? {});
}
