import { isObject } from "@quicrpc/core/internal";

// Reads JSON Schemas in the form of reflection (`MethodDetails`). The server that sends them is not trusted.

export { fromBase64, isObject, readIsoDate, toBase64 } from "@quicrpc/core/internal";

/** A JSON Schema in the form that `MethodDetails` contains. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Maximum number of references to follow, and of nested alternatives. It is limited, because a schema may refer to
 * itself.
 */
const MAX_REFERENCES = 32;
const MAX_CHOICES = 8;

/**
 * Returns the schema that `schema` refers to within `root`, following all references. Undefined if a reference has no
 * target.
 */
export function resolved(schema: unknown, root: JsonSchema): JsonSchema | undefined {
  let at = schema;
  for (let i = 0; i < MAX_REFERENCES; i++) {
    if (!isObject(at)) return undefined;
    const { $ref } = at;
    if (typeof $ref !== "string") return at;
    at = referred($ref, root);
  }
  return undefined;
}

/** Returns the schema that a reference points to. Undefined if there is none. */
export function referred(reference: string, root: JsonSchema): unknown {
  if (reference === "#") return root;
  const { $defs } = root;
  const name = referredName(reference);
  return name !== undefined && isObject($defs) && Object.hasOwn($defs, name) ? $defs[name] : undefined;
}

/** Returns the name of the definition that a reference points to. Undefined if the reference is of another form. */
export function referredName(reference: string): string | undefined {
  return /^#\/\$defs\/(.+)$/.exec(reference)?.[1]?.replaceAll("~1", "/").replaceAll("~0", "~");
}

/**
 * Returns the type with which `MethodTooling` marks a schema because JSON has no such type, such as dates. Undefined if
 * there is no mark.
 */
export function markOf(schema: JsonSchema): string | undefined {
  const mark = schema["x-quicrpc-type"];
  return typeof mark === "string" ? mark : undefined;
}

/**
 * Returns the alternatives of a schema. Undefined if there are none. A list of several types also counts as
 * alternatives.
 */
export function choicesOf(schema: JsonSchema): readonly unknown[] | undefined {
  const { type } = schema;
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(choices)) return choices;
  return Array.isArray(type) ? type.map((singleType) => ({ ...schema, type: singleType as unknown })) : undefined;
}

/**
 * Returns the schemas in `allOf`. In a schema with a type, they are additional conditions, such as several patterns for
 * a text.
 */
export function partsOf({ allOf, type }: JsonSchema): readonly unknown[] {
  return Array.isArray(allOf) && type === undefined ? allOf : [];
}

/**
 * Returns the schemas that may describe a value: `schema` itself and, recursively, each alternative and each part of
 * `allOf`.
 */
export function branchesOf(schema: unknown, root: JsonSchema, depth = 0): readonly JsonSchema[] {
  const resolvedSchema = resolved(schema, root);
  if (resolvedSchema === undefined || depth > MAX_CHOICES) return [];
  const inner = [...(choicesOf(resolvedSchema) ?? []), ...partsOf(resolvedSchema)];
  return [resolvedSchema, ...inner.flatMap((branch) => branchesOf(branch, root, depth + 1))];
}

/** Returns the schema of an object's member. Undefined if any value is permitted. */
export function memberOf(schema: JsonSchema, name: string): unknown {
  const { properties, additionalProperties, items } = schema;
  if (markOf(schema) === "map") return pairOf(items)[1];
  return isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
}

/** Returns the schema of an object's member names, or of a map's keys. Undefined if any are permitted. */
export function keyOf(schema: JsonSchema): unknown {
  return markOf(schema) === "map" ? pairOf(schema["items"])[0] : schema["propertyNames"];
}

/** Returns the schemas of a map's keys and values. */
function pairOf(items: unknown): readonly unknown[] {
  const pair = isObject(items) ? items["prefixItems"] : undefined;
  return Array.isArray(pair) ? pair : [];
}

/** Returns the schema of an item of a list or tuple. */
export function itemOf({ prefixItems, items }: JsonSchema, index: number): unknown {
  return (Array.isArray(prefixItems) ? (prefixItems as readonly unknown[])[index] : undefined) ?? items;
}

/** Returns the minimum and maximum number of items of a list or tuple. */
export function lengthOf({ prefixItems, items, minItems, maxItems }: JsonSchema): {
  readonly min: number;
  readonly max: number;
} {
  const fixed = Array.isArray(prefixItems) ? prefixItems.length : 0;
  const isOpen = isObject(items) || (fixed === 0 && items !== false);
  return {
    min: typeof minItems === "number" ? minItems : fixed,
    max: typeof maxItems === "number" ? maxItems : isOpen ? Number.POSITIVE_INFINITY : fixed,
  };
}

/** Returns the members that a schema names, and which of them are required. */
export function membersOf({ properties, required }: JsonSchema): {
  readonly names: readonly string[];
  readonly required: readonly string[];
} {
  return {
    names: isObject(properties) ? Object.keys(properties) : [],
    required: Array.isArray(required) ? required.filter((name) => typeof name === "string") : [],
  };
}

/**
 * Returns true if a JSON value has the JSON Schema type `type`, or one of several types. Also returns true if the type
 * is unknown.
 */
export function isOfType(json: unknown, type: unknown): boolean {
  if (Array.isArray(type)) return type.some((singleType) => isOfType(json, singleType));
  switch (type) {
    case "null":
      return json === null;
    case "array":
      return Array.isArray(json);
    case "object":
      return isObject(json);
    case "integer":
      return Number.isInteger(json);
    case "string":
    case "number":
    case "boolean":
      return typeof json === type;
    default:
      return true;
  }
}
