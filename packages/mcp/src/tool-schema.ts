import type { JsonSchema } from "@quicrpc/http/openapi";

export type { JsonSchema };

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns true if all values of a schema are objects, which tools require for inputs and outputs. */
export function isObjectSchema({ type }: JsonSchema): boolean {
  return type === "object";
}

/**
 * Returns the schema of an object with one member: `value` of `schema`, or `items` as a list of them. Moves definitions
 * to the root and adjusts references.
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

/** Replaces references to the root of the schema with references to `root`. */
function withRoot(part: unknown, root: string): unknown {
  if (Array.isArray(part)) return part.map((each) => withRoot(each, root));
  if (!isObject(part)) return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, key === "$ref" && value === "#" ? root : withRoot(value, root)]),
  );
}
