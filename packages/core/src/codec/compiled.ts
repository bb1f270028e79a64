// Helpers that generated codecs call, in addition to the basic MessagePack readers and writers.
import { isMisfit, misfit } from "../msgpack/misfit.js";
import {
  allowance,
  countSteps,
  mapLength,
  type Reader,
  readString,
  readWhole,
  skip,
  within,
} from "../msgpack/reader.js";
import { readPlain, readValue } from "../msgpack/read-value.js";
import { writeValue } from "../msgpack/write-value.js";
import type { Read } from "./halves.js";
import { isPlainObject } from "./record.js";
import { Mode, run, type Shape } from "./shape.js";

/** Throws the mismatch error if `value` is not an object. */
export function requireObject(value: unknown): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) misfit();
}

/** Returns the number of properties of `value`, including inherited ones, as zod counts them. */
export function countOf(value: object): number {
  let count = 0;
  for (const _key in value) count++;
  return count;
}

/**
 * Returns the keys of `value` that are not in `names`, including inherited keys, as zod does. Throws the mismatch error
 * if one of them is `__proto__` or its value is undefined or a function.
 */
export function otherKeys(value: object, names: ReadonlySet<string>): string[] {
  const keys: string[] = [];
  for (const key in value) {
    if (names.has(key)) continue;
    const other = (value as Record<string, unknown>)[key];
    if (key === "__proto__" || other === undefined || typeof other === "function") misfit();
    keys.push(key);
  }
  return keys;
}

/** Returns the kind of a JavaScript value, such as "string", "null" or "array". A union selects its option by it. */
export function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

/** Returns the kind of the MessagePack value at `p`, such as "string", "array" or, for a 64-bit integer, "bigint". */
export function kindAt(r: Reader, p: number): string {
  const byte = r.bytes[p] as number;
  if (byte < 0x80 || byte >= 0xe0) return "number";
  if (byte < 0xc0) return byte < 0x90 ? "object" : byte < 0xa0 ? "array" : "string";
  return KINDS[byte - 0xc0] as string;
}

/** Kinds of MessagePack values whose first byte is 0xc0 or greater; the index is the byte minus 0xc0. */
const KINDS: readonly string[] = /* @__PURE__ */ (
  "null,,boolean,boolean,bytes,bytes,bytes,date,date,date,number,number,number,number,number,bigint," +
  "number,number,number,bigint,date,date,date,date,date,string,string,string,array,array,object,object"
).split(",");

/**
 * Called when an option of a union has thrown, before the next option is tried. Charges the steps that the failed
 * option took.
 *
 * @param error the error that the option threw; rethrown unless it is the mismatch error
 * @param allowed value of `allowance.values` before the failed option was read; restored because its values are
 * discarded
 * @param bytes number of bytes that the option has read
 */
export function tryNext(error: unknown, allowed: number = allowance.values, bytes: number = 0): void {
  if (!isMisfit(error) || allowance.values < 0) throw error;
  if (allowed === Number.POSITIVE_INFINITY) return;
  // Most of the time is that of the exception.
  countSteps(1 + (allowed - allowance.values) / VALUES_OF_STEP + bytes / BYTES_OF_STEP);
  allowance.values = allowed;
}

/** Values that an option reads in one step. */
const VALUES_OF_STEP = 12;
/** Bytes that an option reads in one step, in addition to their values. */
const BYTES_OF_STEP = 128;

/** Returns true if `value` is one of the literals in `values`. */
export function isOneOf<T>(value: unknown, values: ReadonlySet<T>): value is T {
  return values.has(value as T);
}

/**
 * Returns the entries of a record. Throws the mismatch error if it is not a plain object or one of its values is
 * undefined.
 */
export function entriesOf<T>(value: Readonly<Record<string, T>>): [key: string, value: Exclude<T, undefined>][] {
  if (!isPlainObject(value)) misfit();
  const entries = Object.entries(value) as [key: string, value: Exclude<T, undefined>][];
  for (const [, each] of entries) if (each === undefined) misfit();
  return entries;
}

/** Returns the text under `key` in the MessagePack map at `p`; generated code selects an option of a union by it. */
export function readTag(r: Reader, p: number, key: string, depth?: number): unknown {
  for (let left = mapLength(r, p); left > 0; left--) {
    if (readString(r, r.position) === key) {
      // The bytes before it are read again.
      countSteps((r.position - p) / BYTES_OF_STEP);
      return readString(r, r.position);
    }
    skip(r, r.position, depth);
  }
  return misfit();
}

/**
 * Reads any value as plain JavaScript. Throws the mismatch error for undefined, because that may mean that the value is
 * absent.
 */
export function readAny(r: Reader, p: number, depth?: number): unknown {
  const value = readPlain(r, p, depth);
  return value === undefined ? misfit() : value;
}

/** Writes any value. Throws the mismatch error for undefined. */
export function writeAny(b: Uint8Array, p: number, value: unknown, depth?: number): number {
  return value === undefined ? misfit() : writeValue(b, p, value, depth);
}

/**
 * Returns `end`, the position after a written value. The second argument is the result of the value's checks, which
 * throw if one fails.
 */
export function writeChecked(end: number, _checked: unknown): number {
  return end;
}

/** Returns `end`, the position after a written value, after running `check` on the value as its receiver reads it. */
export function writeAndRead<T>(b: Uint8Array, p: number, end: number, read: Read<T>, check: (value: T) => T): number {
  // If the buffer was too short, the value is written and checked again in a longer one.
  if (end <= b.length) check(readWhole(b, p, end, read));
  return end;
}

/** Reads a MessagePack value and parses it with `shape`, whose result has the type `T`. */
export function readBy<T>(r: Reader, p: number, shape: Shape, depth?: number): T {
  const { value, issues } = run(shape, within(r, readValue(r, p, depth)), Mode.Wire);
  return issues.length > 0 || value === undefined ? misfit() : (value as T);
}

/** Parses a value with `shape` and writes it, without the keys that the shape does not declare. */
export function writeBy(b: Uint8Array, p: number, given: unknown, shape: Shape, depth?: number): number {
  const { value, issues } = run(shape, given, Mode.Sent);
  return issues.length > 0 ? misfit() : writeAny(b, p, value, depth);
}
