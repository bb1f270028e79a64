import type { JsonSchema } from "./source.js";

/** JSON Schema keyword with which `MethodTooling` marks types that JSON lacks. */
const TYPE_KEY = "x-quicrpc-type";

/**
 * JSON Schema keywords whose value is a schema; those in `LISTS` have a list of schemas, those in `TABLES` schemas by
 * name.
 */
const SCHEMAS: ReadonlySet<string> = new Set(
  "items additionalProperties not propertyNames contains if then else contentSchema unevaluatedProperties".split(" "),
);
const LISTS: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const TABLES: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs"]);

/** Functions that connect a schema with the document to which it is added. */
export interface Surroundings {
  /** Converts a reference (`$ref`) inside the schema to one that is valid in the document. */
  refer(reference: string): string;
  /** Adds a schema that has a title to the document. Returns the reference that replaces it. */
  place(title: string, schema: JsonSchema): JsonSchema;
}

/** Converts a schema from `MethodTooling` to the JSON Schema of the JSON that `jsonCodecOf` writes and reads. */
export function plainSchema(schema: unknown, around: Surroundings): unknown {
  if (!isSchema(schema)) return schema;
  const made: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key !== TYPE_KEY) made[key] = plainKeyword(key, value, around);
  }
  Object.assign(made, own(schema[TYPE_KEY], made));
  return made;
}

/**
 * Converts a schema from `MethodTooling`, with its definitions, to the JSON Schema of the JSON that `jsonCodecOf`
 * writes and reads.
 */
export function plainJsonSchema(schema: JsonSchema): JsonSchema {
  return plainSchema(schema, { refer: (reference) => reference, place: (_, made) => made }) as JsonSchema;
}

/** Converts a nested schema like `plainSchema`. A schema with a title becomes a reference. */
function innerSchema(schema: unknown, around: Surroundings): unknown {
  const made = plainSchema(schema, around);
  if (!isSchema(made)) return made;
  const { title } = made;
  return typeof title === "string" ? around.place(title, made) : made;
}

function plainKeyword(key: string, value: unknown, around: Surroundings): unknown {
  if (key === "$ref" && typeof value === "string") return around.refer(value);
  if (SCHEMAS.has(key)) return innerSchema(value, around);
  if (LISTS.has(key) && Array.isArray(value)) return value.map((each) => innerSchema(each, around));
  if (!TABLES.has(key) || !isSchema(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, innerSchema(each, around)]));
}

/** Returns the JSON Schema keywords for a type that JSON lacks, as `jsonCodecOf` represents it. */
function own(type: unknown, made: Record<string, unknown>): object {
  switch (type) {
    case "date":
      return { type: "string", format: "date-time" };
    case "bigint":
      return "const" in made || "enum" in made ? { type: "string" } : { type: "string", pattern: "^-?[0-9]+$" };
    case "bytes":
      return { type: "string", contentEncoding: "base64" };
    case "map":
      return mapSchema(made);
    default:
      return onlyUseful(made);
  }
}

/** Converts the schema of a map, which describes a list of pairs in `MethodTooling`, to the schema of an object. */
function mapSchema(made: Record<string, unknown>): object {
  const { items, minItems, maxItems } = made;
  const [key, value = {}] = (isSchema(items) ? items["prefixItems"] : undefined) as readonly unknown[];
  for (const keyword of ["items", "minItems", "maxItems"]) delete made[keyword];
  const isText = isSchema(key) && key["type"] === "string" && Object.keys(key).length > 1 && key["$ref"] === undefined;
  return {
    type: "object",
    additionalProperties: value,
    ...(isText && { propertyNames: key }),
    ...(minItems !== undefined && { minProperties: minItems }),
    ...(maxItems !== undefined && { maxProperties: maxItems }),
  };
}

/**
 * Removes keywords without effect: a `propertyNames` that only requires strings, and an `items` that forbids items
 * beyond the maximum.
 */
function onlyUseful(made: Record<string, unknown>): object {
  if (made["items"] === false && typeof made["maxItems"] === "number") delete made["items"];
  const { propertyNames } = made;
  if (isSchema(propertyNames) && propertyNames["type"] === "string" && Object.keys(propertyNames).length === 1) {
    delete made["propertyNames"];
  }
  return {};
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
