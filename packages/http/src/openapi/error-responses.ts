import type { Code } from "@quicrpc/core";
import { codeName, statusOf } from "../protocol/codes.js";
import { STRUCT_TYPE } from "../protocol/struct-detail.js";
import { type Components, ERROR, pascal, referenceTo } from "./components.js";
import type { DescribedError, DescribedMethod, JsonSchema } from "./source.js";

const REFUSED: Code = "invalid_argument";

/**
 * Returns the OpenAPI responses of a method's failed calls, by HTTP status: one for each status of a declared error,
 * and one for all other errors.
 */
export function errorResponses(
  { errors }: DescribedMethod,
  name: string,
  components: Components,
): Record<string, JsonSchema> {
  const byStatus = new Map<number, { readonly texts: string[]; readonly schemas: JsonSchema[] }>();
  const statusEntry = (code: Code): { readonly texts: string[]; readonly schemas: JsonSchema[] } => {
    const status = statusOf(code);
    const entry = byStatus.get(status) ?? { texts: [], schemas: [] };
    byStatus.set(status, entry);
    return entry;
  };
  for (const error of errors) {
    const entry = statusEntry(error.code);
    entry.texts.push(`${error.name} (${codeName(error.code)})`);
    const errorName = `${name}${pascal(error.name.toLowerCase())}`;
    const details = error.details && components.add(error.details, `${errorName}Details`);
    entry.schemas.push(components.add(errorSchema(error, details), `${errorName}Error`));
  }
  const refused = statusEntry(REFUSED);
  refused.texts.push("The message does not fit its schema (invalid_argument)");
  refused.schemas.push(referenceTo(ERROR));
  const responses = [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, { texts, schemas }]) => {
      const [only] = schemas;
      return [
        String(status),
        responseOf(`${texts.join(", or ")}.`, schemas.length === 1 && only ? only : { anyOf: schemas }),
      ] as const;
    });
  return { ...Object.fromEntries(responses), default: responseOf("The call failed.", referenceTo(ERROR)) };
}

function responseOf(description: string, schema: JsonSchema): JsonSchema {
  return { description, content: { "application/json": { schema } } };
}

function errorSchema({ name, code }: DescribedError, details: JsonSchema | undefined): JsonSchema {
  const debug = {
    type: "object",
    properties: { reason: { type: "string", const: name }, ...(details !== undefined && { details }) },
    required: ["reason", ...(details === undefined ? [] : ["details"])],
  };
  const detail = {
    type: "object",
    properties: { type: { type: "string", const: STRUCT_TYPE }, value: { type: "string" }, debug },
    required: ["type", "value", "debug"],
  };
  return {
    type: "object",
    properties: {
      code: { type: "string", const: codeName(code) },
      message: { type: "string" },
      details: { type: "array", items: detail },
    },
    required: ["code", "details"],
  };
}
