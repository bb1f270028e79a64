// Reads JSON Schemas as reflection has them (`MethodDetails`), of a server that may send anything.

/** A JSON Schema, as `MethodDetails` has them. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** References that are followed, and choices between choices: a schema may lead to itself. */
const MAX_REFERENCES = 32;
const MAX_CHOICES = 8;

/** Follows references within `root`; undefined where they lead nowhere. */
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

/** The schema that a reference leads to; undefined where there is none. */
export function referred(reference: string, root: JsonSchema): unknown {
  if (reference === "#") return root;
  const { $defs } = root;
  const name = referredName(reference);
  return name !== undefined && isObject($defs) && Object.hasOwn($defs, name) ? $defs[name] : undefined;
}

/** The name of the definition that a reference leads to. */
export function referredName(reference: string): string | undefined {
  return /^#\/\$defs\/(.+)$/.exec(reference)?.[1]?.replaceAll("~1", "/").replaceAll("~0", "~");
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

/** The schemas that a value may be of: `schema` itself, then each choice and each part, with theirs. */
export function branchesOf(schema: unknown, root: JsonSchema, depth = 0): readonly JsonSchema[] {
  const own = resolved(schema, root);
  if (own === undefined || depth > MAX_CHOICES) return [];
  const inner = [...(choicesOf(own) ?? []), ...partsOf(own)];
  return [own, ...inner.flatMap((each) => branchesOf(each, root, depth + 1))];
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

/** Whether a JSON value is of a type of JSON Schema, or of one of several; true where the type is not known. */
export function isOfType(json: unknown, type: unknown): boolean {
  if (Array.isArray(type)) return type.some((each) => isOfType(json, each));
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

export function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
