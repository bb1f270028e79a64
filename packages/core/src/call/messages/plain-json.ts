import { MAX_DEPTH } from "../../fixed-limits.js";
import { bytesOf, type TypedArray } from "../../codec/typed-array.js";
import { nestingError } from "../../msgpack/value.js";
import { toBase64 } from "./base64.js";

/**
 * Converts a value to plain JSON, in the same way as a schema does. A map with keys other than strings becomes a list
 * of pairs. Throws `RangeError` if the value is nested too deeply.
 */
export function jsonOf(value: unknown, depth: number = 0): unknown {
  if (depth > MAX_DEPTH) throw nestingError();
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (ArrayBuffer.isView(value) && "BYTES_PER_ELEMENT" in value) return toBase64(bytesOf(value as TypedArray));
  if (Array.isArray(value) || value instanceof Set) {
    return Array.from(value as Iterable<unknown>, (each) => jsonOf(each, depth + 1));
  }
  if (value instanceof Map && [...value.keys()].some((key) => typeof key === "object" && !(key instanceof Date))) {
    return Array.from(value, (pair) => jsonOf(pair, depth + 1));
  }
  const entries = value instanceof Map ? value.entries() : Object.entries(value);
  return Object.fromEntries(Array.from(entries, ([key, each]) => [String(key), jsonOf(each, depth + 1)]));
}
