import { MAX_DEPTH } from "../../fixed-limits.js";
import { bytesOf, type TypedArray } from "../../codec/typed-array.js";
import { nestingError } from "../../msgpack/value.js";
import { BYTES_VALUES, count } from "../../msgpack/reader.js";

/**
 * Converts a value to plain JSON: dates and bigints become strings, bytes become base64, Sets become arrays. A Map
 * becomes an object, or an array of pairs if a key is an object. Throws `RangeError` if the value is nested too deeply.
 */
export function jsonOf(value: unknown, depth: number = 0): unknown {
  if (depth > MAX_DEPTH) throw nestingError();
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value) && "BYTES_PER_ELEMENT" in value) return toBase64(bytesOf(value as TypedArray));
  if (Array.isArray(value) || value instanceof Set) {
    return Array.from(value as Iterable<unknown>, (element) => jsonOf(element, depth + 1));
  }
  if (value instanceof Map && [...value.keys()].some((key) => typeof key === "object" && !(key instanceof Date))) {
    return Array.from(value, (pair) => jsonOf(pair, depth + 1));
  }
  const entries = value instanceof Map ? value.entries() : Object.entries(value);
  return Object.fromEntries(Array.from(entries, ([key, element]) => [String(key), jsonOf(element, depth + 1)]));
}

/** Maximum number of arguments for one call of `String.fromCharCode`. */
const CHUNK = 8192;

/** Encodes bytes as standard base64 with padding (RFC 4648 §4). */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(binary);
}

/** Decodes base64. Returns undefined if the text is malformed. */
export function fromBase64(text: string): Uint8Array | undefined {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return undefined;
  }
  count(BYTES_VALUES);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/**
 * Parses a timestamp in RFC 3339 format, or with the six-digit years that `Date.toISOString` writes. Returns undefined
 * for any other text, and for dates, times and offsets that do not exist.
 */
export function readIsoDate(text: string): Date | undefined {
  const [, date = "", day] = ISO_DATE.exec(text) ?? [];
  const value = new Date(text);
  // `new Date` treats 30 February as 1 March; parsing the date alone, in UTC, reveals that.
  const exists = new Date(`${date}T00:00:00Z`).getUTCDate() === Number(day);
  return exists && !Number.isNaN(value.getTime()) ? value : undefined;
}

const ISO_DATE =
  /^((?:\d{4}|[+-]\d{6})-\d\d-(\d\d))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
