import { readIsoDate, fromBase64 } from "@quicrpc/core/internal";
import {
  choicesOf,
  isObject,
  isOfType,
  itemOf,
  type JsonSchema,
  keyOf,
  markOf,
  memberOf,
  membersOf,
  partsOf,
  resolved,
} from "./json-schema.js";

const MAX_DEPTH = 100;
/**
 * Maximum number of schema parts that one conversion visits. It is limited, because nested alternatives could be
 * endless.
 */
const MAX_STEPS = 1_000_000;

interface Scope {
  readonly root: JsonSchema;
  /** Number of schema parts that may still be visited. At 0, the rest of the JSON is not converted. */
  remaining: number;
}

/**
 * Converts JSON to the value that its schema (as in `MethodTooling`) describes. Also used for a message that was
 * received without its schema, because small big integers look like numbers on the wire. JSON that does not match is
 * left unchanged, so that the server refuses it.
 */
export function valueOf(json: unknown, schema: JsonSchema): unknown {
  return readBy(schema, json, { root: schema, remaining: MAX_STEPS }, 0);
}

function readBy(partSchema: unknown, json: unknown, scope: Scope, depth: number): unknown {
  const schema = resolved(partSchema, scope.root);
  if (schema === undefined || depth > MAX_DEPTH || scope.remaining-- <= 0 || ownType(json) !== undefined) return json;
  const inner = (json: unknown, part: unknown): unknown => readBy(part, json, scope, depth + 1);
  switch (markOf(schema)) {
    case "map":
      return mapOf(json, schema, inner, (json, part) => fits(json, part, scope, depth + 1)) ?? json;
    case "set":
      return Array.isArray(json) ? new Set(json.map((item) => inner(item, schema["items"]))) : json;
    case "date":
      // A date without a time means the start of that day in UTC.
      return typeof json === "string" ? (readIsoDate(json) ?? readIsoDate(`${json}T00:00:00Z`) ?? json) : json;
    case "bigint":
      return isBigInt(json) ? BigInt(json) : json;
    case "bytes":
      return typeof json === "string" ? (fromBase64(json) ?? json) : json;
    case undefined:
      break;
    default:
      return json;
  }
  const choices = choicesOf(schema);
  if (choices !== undefined)
    return inner(
      json,
      choices.find((choice) => fits(json, choice, scope, depth + 1)),
    );
  const parts = partsOf(schema);
  if (parts.length > 0) return parts.reduce(inner, json);
  if (Array.isArray(json)) return json.map((element, i) => inner(element, itemOf(schema, i)));
  if (!isObject(json)) return json;
  return Object.fromEntries(Object.entries(json).map(([key, member]) => [key, inner(member, memberOf(schema, key))]));
}

/** Converts an object with string keys, or a list of pairs, to a map. Returns undefined for other values. */
function mapOf(
  json: unknown,
  schema: JsonSchema,
  inner: (json: unknown, partSchema: unknown) => unknown,
  fitsIn: (json: unknown, partSchema: unknown) => boolean,
): Map<unknown, unknown> | undefined {
  const [key, value] = [keyOf(schema), memberOf(schema, "")];
  if (isPairs(json))
    return new Map(json.map(([memberKey, memberValue]) => [inner(memberKey, key), inner(memberValue, value)]));
  if (!isObject(json)) return undefined;
  const keyFor = (text: string): unknown =>
    inner([text, ...meanings(text)].find((meaning) => fitsIn(meaning, key)) ?? text, key);
  return new Map(Object.entries(json).map(([text, member]) => [keyFor(text), inner(member, value)]));
}

function isPairs(json: unknown): json is readonly (readonly [key: unknown, value: unknown])[] {
  return Array.isArray(json) && json.every((pair) => Array.isArray(pair) && pair.length === 2);
}

/** Returns the values that an object's key may stand for, besides the text itself. */
function meanings(text: string): unknown[] {
  if (text === "true" || text === "false") return [text === "true"];
  return text.trim() === "" || Number.isNaN(Number(text)) ? [] : [Number(text)];
}

/**
 * Returns true if JSON may match a schema. The check is only as precise as selecting one of several alternative schemas
 * requires.
 */
function fits(json: unknown, partSchema: unknown, scope: Scope, depth: number): boolean {
  const schema = resolved(partSchema, scope.root);
  if (schema === undefined || depth > MAX_DEPTH || scope.remaining-- <= 0) return true;
  const inner = (value: unknown, part: unknown): boolean => fits(value, part, scope, depth + 1);
  const marked = markOf(schema);
  const values = "const" in schema ? [schema["const"]] : schema["enum"];
  if (Array.isArray(values)) return values.includes(marked === "bigint" ? String(json) : json);
  const choices = choicesOf(schema);
  if (choices !== undefined) return choices.some((choice) => inner(json, choice));
  const jsonType = ownType(json);
  if (jsonType !== undefined) return marked === jsonType;
  if (marked === "bigint") return isBigInt(json);
  if (marked === "map") return isObject(json) || isPairs(json);
  if (!isOfType(json, schema["type"])) return false;
  if (marked === "date") return readIsoDate(json as string) !== undefined;
  if (!isObject(json)) return true;
  const { names, required } = membersOf(schema);
  return (
    required.every((name) => Object.hasOwn(json, name)) &&
    names.every((name) => !Object.hasOwn(json, name) || inner(json[name], memberOf(schema, name)))
  );
}

function isBigInt(json: unknown): json is string | number {
  return typeof json === "number" ? Number.isSafeInteger(json) : typeof json === "string" && /^-?\d{1,400}$/.test(json);
}

/**
 * Returns the name of a value's type if JSON has no such type, as it is written in schemas. Otherwise returns
 * undefined.
 */
function ownType(value: unknown): string | undefined {
  if (typeof value === "bigint") return "bigint";
  if (typeof value !== "object") return undefined;
  if (value instanceof Date) return "date";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Map) return "map";
  return value instanceof Set ? "set" : undefined;
}
