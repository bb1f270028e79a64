import type { JsonSchema } from "./source.js";

/** The key by which `MethodTooling` tells types that JSON has not. */
const TYPE_KEY = "x-quicrpc-type";

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const SCHEMAS: ReadonlySet<string> = new Set(
  "items additionalProperties not propertyNames contains if then else contentSchema unevaluatedProperties".split(" "),
);
const LISTS: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const TABLES: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs"]);

/** The document that a schema becomes part of. */
export interface Surroundings {
  /** Where a reference of the schema leads in the document. */
  refer(reference: string): string;
  /** Puts a schema that has a title where others find it. Returns the schema to write in its place. */
  place(title: string, schema: JsonSchema): JsonSchema;
}

/** Returns the JSON Schema of what `jsonCodecOf` writes and reads. */
export function plainSchema(schema: unknown, around: Surroundings): unknown {
  if (!isSchema(schema)) return schema;
  const made: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key !== TYPE_KEY) made[key] = plainKeyword(key, value, around);
  }
  Object.assign(made, own(schema[TYPE_KEY], made));
  return made;
}

/** The same of a schema that is a document by itself. */
export function plainJsonSchema(schema: JsonSchema): JsonSchema {
  return plainSchema(schema, { refer: (reference) => reference, place: (_, made) => made }) as JsonSchema;
}

/** The same of a schema inside another: one with a title is a reference. */
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

/** Returns the keywords in which the JSON of `jsonCodecOf` differs, by the type that JSON does not have. */
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

/** A map is written as pairs in a tool's schema; in JSON it is an object. */
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

/** Takes away what says nothing: that keys are text, and that items beyond the last there may be are none. */
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
