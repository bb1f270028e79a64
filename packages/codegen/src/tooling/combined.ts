import type { Definition, JsonSchema } from "./keywords.js";

/**
 * Returns a JSON Schema with the alternatives `options`. Alternatives that consist only of a type become one list of
 * types.
 */
export function unionOf(keyword: "anyOf" | "oneOf", options: readonly JsonSchema[]): JsonSchema {
  const isBare = ({ type, ...rest }: JsonSchema): boolean => type !== undefined && Object.keys(rest).length === 0;
  // A list of types means "any of them", not "exactly one of them", because an integer is also a number.
  if (keyword === "oneOf" || options.length === 0 || !options.every(isBare)) return { [keyword]: options };
  const types = [...new Set(options.flatMap(({ type }) => type))];
  return { type: types.length === 1 ? types[0] : types };
}

const FOLDABLE: ReadonlySet<string> = new Set(["type", "properties", "required", "additionalProperties"]);
/** JSON Schema keywords for human readers, which are dropped from the fields of an intersection. */
const FOR_READERS: ReadonlySet<string> = new Set(["title", "description", "examples", "deprecated", "readOnly"]);

/**
 * Returns a JSON Schema for values that match all of `schemas`. Objects are merged into one, because a strict object
 * would refuse the fields of the others.
 */
export function foldedIntersection(schemas: readonly JsonSchema[], definition: Definition): JsonSchema {
  const isNested = (schema: JsonSchema): boolean => Array.isArray(schema["allOf"]) && Object.keys(schema).length === 1;
  const all = schemas.flatMap((schema) => (isNested(schema) ? (schema["allOf"] as JsonSchema[]) : [schema]));
  const union = all.find((schema) => Object.keys(schema).length === 1 && (schema["anyOf"] ?? schema["oneOf"]));
  if (union === undefined) return folded(all, definition) ?? { allOf: all };
  const [[keyword, options]] = Object.entries(union) as [[string, readonly JsonSchema[]]];
  const others = all.filter((schema) => schema !== union);
  const branches = options.map((option) => folded([...others, option], definition));
  return branches.includes(undefined) ? { allOf: all } : { [keyword]: branches };
}

/**
 * Merges the JSON Schemas of objects into one. Returns undefined if one of them is not an object, or has further
 * keywords. Named objects stay references, unless one is strict.
 */
function folded(schemas: readonly JsonSchema[], definition: Definition): JsonSchema | undefined {
  const resolved = schemas.map((schema) => definition(schema) ?? schema);
  const isStrict = resolved.some(({ additionalProperties }) => additionalProperties === false);
  const objects = isStrict ? resolved : schemas;
  const isPlain = (schema: JsonSchema): boolean =>
    schema["type"] === "object" &&
    Object.keys(schema).every((key) => FOLDABLE.has(key) || (isStrict && FOR_READERS.has(key)));
  if (!objects.every(isPlain)) return undefined;
  const names = new Set(objects.flatMap(({ properties }) => Object.keys(properties ?? {})));
  const properties = Array.from(names, (name): [string, JsonSchema] => [
    name,
    together(
      objects.map((each) => ruleFor(name, each)),
      definition,
    ),
  ]);
  const required = [...new Set(objects.flatMap((each) => (each["required"] as readonly string[] | undefined) ?? []))];
  const others = together(objects.map(undeclared), definition);
  const isClosed = objects.every(({ additionalProperties }) => additionalProperties === false);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...(isClosed
      ? { additionalProperties: false }
      : Object.keys(others).length > 0 && { additionalProperties: others }),
  };
}

function ruleFor(name: string, object: JsonSchema): JsonSchema | undefined {
  const properties = (object["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  return Object.hasOwn(properties, name) ? properties[name] : undeclared(object);
}

/** Returns the JSON Schema of an object's undeclared fields; undefined if they are not allowed. */
function undeclared({ additionalProperties: others }: JsonSchema): JsonSchema | undefined {
  return typeof others === "object" && others !== null && Object.keys(others).length > 0
    ? (others as JsonSchema)
    : undefined;
}

function together(rules: readonly (JsonSchema | undefined)[], definition: Definition): JsonSchema {
  const different = new Map(rules.filter((rule) => rule !== undefined).map((rule) => [JSON.stringify(rule), rule]));
  const [only, ...others] = different.values();
  if (only === undefined || others.length === 0) return only ?? {};
  return folded([only, ...others], definition) ?? { allOf: [only, ...others] };
}
