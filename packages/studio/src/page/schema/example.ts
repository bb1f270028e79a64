import {
  choicesOf,
  isObject,
  itemOf,
  markOf,
  memberOf,
  membersOf,
  partsOf,
  resolved,
  type JsonSchema,
} from "@quicrpc/services/json-schema";

const MAX_DEPTH = 8;
/** Most items in an example if more are required. */
const MAX_ITEMS = 3;

/** Returns a value, as typed in JSON, that matches a schema: as small as possible, with all required members. */
export function exampleOf(schema: unknown, root: JsonSchema, now: Date = new Date(), depth = 0): unknown {
  const found = resolved(schema, root);
  if (found === undefined || depth > MAX_DEPTH) return null;
  const inner = (each: unknown): unknown => exampleOf(each, root, now, depth + 1);
  if ("default" in found) return found["default"];
  if (Array.isArray(found["examples"]) && found["examples"].length > 0) return found["examples"][0];
  if ("const" in found) return found["const"];
  if (Array.isArray(found["enum"])) return found["enum"][0];
  const marked = markedExample(found, now);
  if (marked !== undefined) return marked;
  const choices = choicesOf(found);
  if (choices !== undefined)
    return inner(choices.find((each) => resolved(each, root)?.["type"] !== "null") ?? choices[0]);
  const parts = partsOf(found);
  if (parts.length > 0) return Object.assign({}, ...parts.map((each) => inner(each)).filter(isObject));
  return plainExample(found, inner);
}

function markedExample(schema: JsonSchema, now: Date): unknown {
  switch (markOf(schema)) {
    case "date":
      return now.toISOString();
    case "bigint":
      return "0";
    case "bytes":
      return "";
    case "map":
      return {};
    default:
      return undefined;
  }
}

function plainExample(schema: JsonSchema, inner: (schema: unknown) => unknown): unknown {
  const { type, minimum, exclusiveMinimum, minLength, minItems, prefixItems, format } = schema;
  switch (type) {
    case "object": {
      const { required } = membersOf(schema);
      return Object.fromEntries(required.map((name) => [name, inner(memberOf(schema, name))]));
    }
    case "array": {
      const count = Array.isArray(prefixItems) ? prefixItems.length : Math.min(Number(minItems ?? 0), MAX_ITEMS);
      return Array.from({ length: count }, (_, index) => inner(itemOf(schema, index)));
    }
    case "string":
      return textExample(format, typeof minLength === "number" ? minLength : 0);
    case "integer":
    case "number":
      if (typeof minimum === "number" && minimum > 0) return minimum;
      return typeof exclusiveMinimum === "number" && exclusiveMinimum >= 0 ? exclusiveMinimum + 1 : 0;
    case "boolean":
      return false;
    default:
      return null;
  }
}

function textExample(format: unknown, minLength: number): string {
  switch (format) {
    case "email":
      return "somebody@example.org";
    case "uuid":
      return "00000000-0000-4000-8000-000000000000";
    case "uri":
      return "https://example.org/";
    default:
      return "x".repeat(Math.min(minLength, 100));
  }
}
