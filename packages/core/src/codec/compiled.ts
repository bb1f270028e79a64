// Helpers of compiled codecs, in addition to the basic readers and writers.
import { misfit } from "../msgpack/misfit.js";
import { type Reader, readMapHeader, readString, skip, within } from "../msgpack/reader.js";
import { readPlain, readValue } from "../msgpack/read-value.js";
import { writeValue } from "../msgpack/write-value.js";
import { isPlainObject } from "./record.js";
import { isObject, Mode, run, type Shape } from "./shape.js";

/** Throws the mismatch error if `value` is not an object. */
export function requireObject(value: unknown): void {
  if (!isObject(value)) misfit();
}

/** Returns the number of properties of `value`, including inherited ones, as zod counts them. */
export function countOf(value: object): number {
  let count = 0;
  for (const _key in value) count++;
  return count;
}

/** Returns the properties of a record that are not undefined. */
export function entriesOf<T>(value: Readonly<Record<string, T>>): [key: string, value: Exclude<T, undefined>][] {
  if (!isPlainObject(value)) misfit();
  const entries = Object.entries(value) as [key: string, value: Exclude<T, undefined>][];
  for (const [, each] of entries) if (each === undefined) misfit();
  return entries;
}

/** Returns the value of `key` in the map at `p`, without consuming it. */
export function readTag(r: Reader, p: number, key: string, depth?: number): unknown {
  for (let left = readMapHeader(r, p); left > 0; left--) {
    if (readString(r, r.position) === key) return readString(r, r.position);
    skip(r, r.position, depth);
  }
  return misfit();
}

/** Reads any value as plain JavaScript. Undefined does not match, because it may mean that the value is absent. */
export function readAny(r: Reader, p: number, depth?: number): unknown {
  const value = readPlain(r, p, depth);
  return value === undefined ? misfit() : value;
}

/** Writes any value except undefined. */
export function writeAny(b: Uint8Array, p: number, value: unknown, depth?: number): number {
  return value === undefined ? misfit() : writeValue(b, p, value, depth);
}

/** Reads a value and parses it with `shape`, whose result has the type `T`. */
export function readBy<T>(r: Reader, p: number, shape: Shape, depth?: number): T {
  const { value, issues } = run(shape, within(r, readValue(r, p, depth)), Mode.Wire);
  return issues.length > 0 || value === undefined ? misfit() : (value as T);
}

/** Checks a value with `shape` and writes it unchanged. */
export function writeBy(b: Uint8Array, p: number, value: unknown, shape: Shape, depth?: number): number {
  return run(shape, value, Mode.Given).issues.length > 0 ? misfit() : writeAny(b, p, value, depth);
}
