import { resolved, type JsonSchema } from "@quicrpc/services/json-schema";

/** Returns the schema of the part of a message that is typed: without blob fields, for which files are chosen. */
export function typedSchema(
  schema: JsonSchema | undefined,
  fields: readonly { readonly name: string }[] = [],
): JsonSchema | undefined {
  const root = schema && fields.length > 0 ? resolved(schema, schema) : undefined;
  if (schema === undefined || root === undefined) return schema;
  const isBlob = (name: string): boolean => fields.some((field) => field.name === name);
  const { properties, required } = root;
  const typed = Object.entries((properties ?? {}) as JsonSchema).filter(([name]) => !isBlob(name));
  return {
    ...("$defs" in schema && { $defs: schema["$defs"] }),
    ...root,
    properties: Object.fromEntries(typed),
    required: Array.isArray(required) ? required.filter((name) => !isBlob(name as string)) : [],
  };
}
