import { readIsoDate } from "@quicrpc/core/generated";
import { fromBase64, toBase64 } from "@quicrpc/core/transport";

/** A JSON Schema, as `MethodDetails` has them. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The key by which `MethodTooling` tells types that JSON has not. */
const TYPE_KEY = "x-quicrpc-type";
const MAX_DEPTH = 100;
/** Parts of a schema that one conversion looks at: choices between choices between choices would have no end. */
const MAX_STEPS = 1_000_000;

/** A schema by which JSON is being read. */
interface Scope {
  readonly root: JsonSchema;
  /** Steps that may still be made; then JSON stays as it is. */
  left: number;
}

/**
 * Converts JSON to the value that its schema, as `MethodTooling` has it, means; a message that came without its schema, too: of a small big integer the wire does
 * not tell that it is one. What does not fit stays as it is: the server says so.
 */
export function valueOf(json: unknown, schema: JsonSchema): unknown {
  return readBy(schema, json, { root: schema, left: MAX_STEPS }, 0);
}

function readBy(schema: JsonSchema, json: unknown, scope: Scope, depth: number): unknown {
  if (depth > MAX_DEPTH || scope.left-- <= 0 || ownType(json) !== undefined) return json;
  const inner = (each: unknown, by: unknown): unknown => (isObject(by) ? readBy(by, each, scope, depth + 1) : each);
  if (typeof schema["$ref"] === "string") return inner(json, resolve(schema["$ref"], scope.root));
  const marked = schema[TYPE_KEY];
  if (marked === "map") return mapOf(json, schema, inner, (each, by) => fits(each, by, scope, depth + 1)) ?? json;
  if (typeof marked === "string") return markedValue(json, marked, schema, inner);
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(choices))
    return inner(
      json,
      choices.find((each) => fits(json, each, scope, depth + 1)),
    );
  if (Array.isArray(schema["allOf"])) return schema["allOf"].reduce(inner, json);
  if (Array.isArray(json)) {
    const { prefixItems, items } = schema;
    return json.map((each, i) => inner(each, (Array.isArray(prefixItems) ? prefixItems[i] : undefined) ?? items));
  }
  if (!isObject(json)) return json;
  const { properties, additionalProperties } = schema;
  const known = isObject(properties) ? properties : {};
  return Object.fromEntries(
    Object.entries(json).map(([key, each]) => [
      key,
      inner(each, Object.hasOwn(known, key) ? known[key] : additionalProperties),
    ]),
  );
}

function markedValue(
  json: unknown,
  type: string,
  { items }: JsonSchema,
  inner: (json: unknown, by: unknown) => unknown,
): unknown {
  switch (type) {
    case "date":
      // People type a date without a time: the start of that day in UTC.
      return typeof json === "string" ? (readIsoDate(json) ?? readIsoDate(`${json}T00:00:00Z`) ?? json) : json;
    case "bigint":
      return isBigInt(json) ? BigInt(json) : json;
    case "bytes":
      return typeof json === "string" ? (bytesOf(json) ?? json) : json;
    case "set":
      return Array.isArray(json) ? new Set(json.map((each) => inner(each, items))) : json;
    default:
      return json;
  }
}

/** The map of an object, whose keys are text, or of a list of pairs; undefined of anything else. */
function mapOf(
  json: unknown,
  { items }: JsonSchema,
  inner: (json: unknown, by: unknown) => unknown,
  fitsIn: (json: unknown, by: unknown) => boolean,
): Map<unknown, unknown> | undefined {
  const pair: unknown = isObject(items) ? items["prefixItems"] : undefined;
  const [key, value] = Array.isArray(pair) ? (pair as readonly unknown[]) : [];
  if (isPairs(json)) return new Map(json.map(([each, of]) => [inner(each, key), inner(of, value)]));
  if (!isObject(json)) return undefined;
  const keyOf = (text: string): unknown =>
    inner([text, ...meanings(text)].find((each) => fitsIn(each, key)) ?? text, key);
  return new Map(Object.entries(json).map(([text, each]) => [keyOf(text), inner(each, value)]));
}

function isPairs(json: unknown): json is readonly (readonly [key: unknown, value: unknown])[] {
  return Array.isArray(json) && json.every((each) => Array.isArray(each) && each.length === 2);
}

/** The values other than text that a key may mean. */
function meanings(text: string): unknown[] {
  if (text === "true" || text === "false") return [text === "true"];
  return text.trim() === "" || Number.isNaN(Number(text)) ? [] : [Number(text)];
}

/** Whether JSON may be what a schema means, as far as a choice between several needs it. */
function fits(json: unknown, schema: unknown, scope: Scope, depth: number): boolean {
  if (!isObject(schema) || depth > MAX_DEPTH || scope.left-- <= 0) return true;
  if (typeof schema["$ref"] === "string") return fits(json, resolve(schema["$ref"], scope.root), scope, depth + 1);
  const marked = schema[TYPE_KEY];
  const values = "const" in schema ? [schema["const"]] : schema["enum"];
  if (Array.isArray(values)) return values.includes(marked === "bigint" ? String(json) : json);
  const choices = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(choices)) return choices.some((each) => fits(json, each, scope, depth + 1));
  const own = ownType(json);
  if (own !== undefined) return marked === own;
  if (marked === "bigint") return isBigInt(json);
  if (marked === "map") return isObject(json) || isPairs(json);
  if (!fitsType(json, schema["type"])) return false;
  if (marked === "date") return readIsoDate(json as string) !== undefined;
  if (!isObject(json)) return true;
  const { required, properties } = schema;
  const known = isObject(properties) ? properties : {};
  return (
    (!Array.isArray(required) || required.every((key) => Object.hasOwn(json, key as string))) &&
    Object.entries(json).every(([key, each]) => !Object.hasOwn(known, key) || fits(each, known[key], scope, depth + 1))
  );
}

function fitsType(json: unknown, type: unknown): boolean {
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

function resolve(reference: string, root: JsonSchema): unknown {
  if (reference === "#") return root;
  const name = /^#\/\$defs\/(.+)$/.exec(reference)?.[1]?.replaceAll("~1", "/").replaceAll("~0", "~");
  const { $defs } = root;
  return name !== undefined && isObject($defs) && Object.hasOwn($defs, name) ? $defs[name] : undefined;
}

function isBigInt(json: unknown): json is string | number {
  return typeof json === "number" ? Number.isSafeInteger(json) : typeof json === "string" && /^-?\d{1,400}$/.test(json);
}

function bytesOf(text: string): Uint8Array | undefined {
  try {
    return fromBase64(text);
  } catch {
    return undefined;
  }
}

/** Spells a value in JSON as plain JSON by a schema does; a map whose keys are no text is a list of pairs. Throws `RangeError` for one nested too deep. */
export function jsonOf(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new RangeError(`values are nested more than ${MAX_DEPTH} deep`);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Uint8Array) return toBase64(value);
  if (Array.isArray(value) || value instanceof Set) {
    return Array.from(value as Iterable<unknown>, (each) => jsonOf(each, depth + 1));
  }
  if (value instanceof Map && [...value.keys()].some((key) => typeof key === "object" && !(key instanceof Date))) {
    return Array.from(value, (pair) => jsonOf(pair, depth + 1));
  }
  const entries = value instanceof Map ? value.entries() : Object.entries(value);
  return Object.fromEntries(Array.from(entries, ([key, each]) => [String(key), jsonOf(each, depth + 1)]));
}

/** The type of a value that JSON has not, as schemas mark it; undefined of JSON. */
function ownType(value: unknown): string | undefined {
  if (typeof value === "bigint") return "bigint";
  if (typeof value !== "object") return undefined;
  if (value instanceof Date) return "date";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Map) return "map";
  return value instanceof Set ? "set" : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
