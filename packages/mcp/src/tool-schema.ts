import type { JsonSchema } from "@quicrpc/http/openapi";

export type { JsonSchema };

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether all values of a schema are objects, as tools take and give them. */
export function isObjectSchema({ type }: JsonSchema): boolean {
  return type === "object";
}

/**
 * Returns the schema of an object that has a value of `schema` under `key`: "value" as it is, "items" as a list. Definitions go to the
 * outside, and references follow.
 */
export function wrapped(schema: JsonSchema, key: "value" | "items", optional: JsonSchema = {}): JsonSchema {
  const { $defs, ...own } = schema;
  const root = key === "items" ? "#/properties/items/items" : "#/properties/value";
  const moved = withRoot(own, root);
  return {
    type: "object",
    properties: { [key]: key === "items" ? { type: "array", items: moved } : moved, ...optional },
    required: [key],
    ...($defs !== undefined && { $defs: withRoot($defs, root) }),
  };
}

/** References to the whole of a schema lead to `root` from now on. */
function withRoot(part: unknown, root: string): unknown {
  if (Array.isArray(part)) return part.map((each) => withRoot(each, root));
  if (!isObject(part)) return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, key === "$ref" && value === "#" ? root : withRoot(value, root)]),
  );
}
