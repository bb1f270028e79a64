import { appendBytes, type SessionCodec } from "../../contract/codec.js";
import { RpcError } from "../../errors.js";
import { MAX_DEPTH } from "../../fixed-limits.js";
import { MAX_BIGINT_DIGITS, tooManyDigits } from "../../msgpack/big-int.js";
import { CROWDED, mapOf, setOf } from "../../msgpack/key-crowd.js";
import { isKept, sentBytes, sentFields } from "../../msgpack/write-value.js";
import { fromBase64, toBase64, readIsoDate } from "./plain-json.js";
import { countJson } from "./json-count.js";

/**
 * Codec that writes messages as JSON. A value that JSON lacks is written as an object with one key: `{"$date":
 * "2026-01-31T00:00:00.000Z"}`, `$bigint` and `$number` (`NaN`, `Infinity`, `-Infinity`, `-0`) with the digits in a
 * string, `$bytes` in base64, `$map` with pairs, `$set` with items, and `{"$undefined": true}` in arrays. Undefined
 * properties are omitted. If an object has a single key that begins with `$`, the codec adds another `$` before it.
 */
export const json: SessionCodec = {
  name: "json",
  encode(value, out) {
    appendBytes(out, encoder.encode(markedJson(value)));
  },
  decode(bytes, start, end) {
    // A value that JSON lacks is written with up to three nesting levels.
    countJson(bytes, start, end, MAX_DEPTH * 3);
    return fromMarkedJson(decoder.decode(bytes.subarray(start, end)));
  },
};

/**
 * Returns the JSON text of a message, in the format of the codec `json`. Throws `TypeError` for values that messages
 * cannot contain, such as functions.
 */
export const markedJson = (value: unknown): string => JSON.stringify(value, tag) ?? UNDEFINED;

/** Parses a JSON text that `markedJson` wrote. */
export const fromMarkedJson = (text: string): unknown => untag(JSON.parse(text));

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const UNDEFINED = '{"$undefined":true}';

/**
 * Replacer function for `JSON.stringify`. Reads the original value from `this`, because `converted` is already the
 * result of `toJSON`.
 */
function tag(this: Record<string, unknown>, key: string, converted: unknown): unknown {
  const value = this[key];
  switch (typeof value) {
    case "bigint":
      return { $bigint: String(value) };
    case "number":
      if (Object.is(value, -0)) return { $number: "-0" };
      return Number.isFinite(value) ? value : { $number: String(value) };
    case "undefined":
      return Array.isArray(this) || isKept(this, key) ? { $undefined: true } : undefined;
    case "object":
      return value === null ? null : tagObject(value, converted);
    case "function":
    case "symbol":
      throw new TypeError(`${typeof value} at ${key}`);
    default:
      return converted;
  }
}

function tagObject(value: object, converted: unknown): unknown {
  if (value instanceof Date) return { $date: Number.isNaN(value.getTime()) ? null : value.toISOString() };
  const bytes = sentBytes(value);
  if (bytes !== undefined) return { $bytes: toBase64(bytes) };
  if (value instanceof Map) return { $map: [...value] };
  if (value instanceof Set) return { $set: [...value] };
  if (typeof converted !== "object" || converted === null || Array.isArray(converted)) return converted;
  const entry = soleEntry(sentFields(converted));
  return entry === undefined ? converted : { [`$${entry[0]}`]: entry[1] };
}

/** Returns the only property of an object if its name begins with `$`; otherwise undefined. */
function soleEntry(fields: readonly [string, unknown][]): [string, unknown] | undefined {
  return fields.length === 1 && fields[0]?.[0].startsWith("$") === true ? fields[0] : undefined;
}

/** Restores the values that `tag` has replaced, changing the given arrays and objects where possible. */
function untag(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = untag(value[i]);
    return value;
  }
  const object = value as Record<string, unknown>;
  const keys = Object.keys(object);
  const [first] = keys;
  if (keys.length === 1 && first?.startsWith("$") === true) return untagged(first, object[first]);
  for (const key of keys) {
    const item = object[key];
    // An own property here, but copying the object would set its prototype.
    if (key === "__proto__") delete object[key];
    else if (typeof item === "object") object[key] = untag(item);
  }
  return object;
}

function untagged(key: string, value: unknown): unknown {
  if (key.startsWith("$$")) return { [key.slice(1)]: untag(value) };
  switch (key) {
    case "$date":
      return value === null ? new Date(Number.NaN) : (readIsoDate(string(key, value)) ?? malformed(key));
    case "$bigint":
      return bigint(string(key, value));
    case "$number":
      return NUMBERS.includes(string(key, value)) ? Number(value) : malformed(key);
    case "$bytes":
      return fromBase64(string(key, value)) ?? malformed(key);
    case "$map":
      return mapOf(array(key, value).map((element) => pair(key, untag(element)))) ?? crowded(key);
    case "$set":
      return setOf(array(key, untag(value))) ?? crowded(key);
    case "$undefined":
      return value === true ? undefined : malformed(key);
    default:
      throw new RpcError("invalid_argument", `${key} is not a known type of marked JSON`);
  }
}

function string(key: string, value: unknown): string {
  return typeof value === "string" ? value : malformed(key);
}

function array(key: string, value: unknown): unknown[] {
  return Array.isArray(value) ? value : malformed(key);
}

function pair(key: string, value: unknown): [unknown, unknown] {
  const items = array(key, value);
  return items.length === 2 ? (items as [unknown, unknown]) : malformed(key);
}

function bigint(text: string): bigint {
  // Checked before parsing, so that a very long text costs no time.
  if (text.length > MAX_BIGINT_DIGITS + 1) throw tooManyDigits();
  return /^-?\d+$/.test(text) ? BigInt(text) : malformed("$bigint");
}

function malformed(key: string): never {
  throw new RpcError("invalid_argument", `the value of ${key} is malformed`);
}

function crowded(key: string): never {
  throw new RpcError("invalid_argument", `the value of ${key} has ${CROWDED}`);
}

const NUMBERS: readonly string[] = ["NaN", "Infinity", "-Infinity", "-0"];
