import type { JsonSchema } from "@quicrpc/services";

/** How deep a schema is followed: a reference may lead to itself. */
const MAX_REFERENCES = 32;

/** Follows references within `root`; undefined where they lead nowhere. */
export function resolved(schema: unknown, root: JsonSchema): JsonSchema | undefined {
  let at = schema;
  for (let i = 0; i < MAX_REFERENCES; i++) {
    if (!isObject(at)) return undefined;
    const { $ref } = at;
    if (typeof $ref !== "string") return at;
    at = $ref === "#" ? root : definition($ref, root);
  }
  return undefined;
}

function definition(reference: string, { $defs }: JsonSchema): unknown {
  const name = /^#\/\$defs\/(.+)$/.exec(reference)?.[1]?.replaceAll("~1", "/").replaceAll("~0", "~");
  return name !== undefined && isObject($defs) && Object.hasOwn($defs, name) ? $defs[name] : undefined;
}

/** The types that JSON has not, as `MethodTooling` marks them. */
export function markOf(schema: JsonSchema): string | undefined {
  const mark = schema["x-quicrpc-type"];
  return typeof mark === "string" ? mark : undefined;
}

/** The schemas of which one has to fit; undefined where there is no choice. Several types are a choice too. */
export function choicesOf(schema: JsonSchema): readonly unknown[] | undefined {
  const { type } = schema;
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(choices)) return choices;
  return Array.isArray(type) ? type.map((each) => ({ ...schema, type: each as unknown })) : undefined;
}

/** The schemas that have to fit all. */
export function partsOf({ allOf }: JsonSchema): readonly unknown[] {
  return Array.isArray(allOf) ? allOf : [];
}

/** The schema of a member of an object; undefined where any value may stand there. */
export function memberOf(schema: JsonSchema, name: string): unknown {
  const { properties, additionalProperties, items } = schema;
  if (markOf(schema) === "map") return pairOf(items)[1];
  return isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
}

/** The schema of the names that an object takes, or of a map's keys; undefined where any will do. */
export function keyOf(schema: JsonSchema): unknown {
  return markOf(schema) === "map" ? pairOf(schema["items"])[0] : schema["propertyNames"];
}

/** The schemas of a map's keys and values. */
function pairOf(items: unknown): readonly unknown[] {
  const pair = isObject(items) ? items["prefixItems"] : undefined;
  return Array.isArray(pair) ? pair : [];
}

/** The schema of an item of a list or a tuple. */
export function itemOf({ prefixItems, items }: JsonSchema, index: number): unknown {
  return (Array.isArray(prefixItems) ? (prefixItems as readonly unknown[])[index] : undefined) ?? items;
}

/** How many items a list, or a tuple, takes. */
export function lengthOf({ prefixItems, items, minItems, maxItems }: JsonSchema): {
  readonly least: number;
  readonly most: number;
} {
  const fixed = Array.isArray(prefixItems) ? prefixItems.length : 0;
  const isOpen = isObject(items) || (fixed === 0 && items !== false);
  return {
    least: typeof minItems === "number" ? minItems : fixed,
    most: typeof maxItems === "number" ? maxItems : isOpen ? Number.POSITIVE_INFINITY : fixed,
  };
}

/** The members that a schema names, with those that it requires. */
export function membersOf({ properties, required }: JsonSchema): {
  readonly names: readonly string[];
  readonly required: readonly string[];
} {
  return {
    names: isObject(properties) ? Object.keys(properties) : [],
    required: Array.isArray(required) ? required.filter((each) => typeof each === "string") : [],
  };
}

export function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
