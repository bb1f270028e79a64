// Helpers of compiled codecs, beside the plain readers and writers.
import { misfit } from "../msgpack/misfit.js";
import { type Reader, readMapHeader, readString, skip, within } from "../msgpack/reader.js";
import { readPlain, readValue } from "../msgpack/read-value.js";
import { writeValue } from "../msgpack/write-value.js";
import { isPlainObject } from "./record.js";
import { isObject, Mode, run, type Shape } from "./shape.js";

/** A misfit where `value` is no object. */
export function requireObject(value: unknown): void {
  if (!isObject(value)) misfit();
}

/** How many properties `value` has, those that it inherits included, as zod counts them. */
export function countOf(value: object): number {
  let count = 0;
  for (const _key in value) count++;
  return count;
}

/** The properties of a record, none of which is undefined. */
export function entriesOf<T>(value: Readonly<Record<string, T>>): [key: string, value: Exclude<T, undefined>][] {
  if (!isPlainObject(value)) misfit();
  const entries = Object.entries(value) as [key: string, value: Exclude<T, undefined>][];
  for (const [, each] of entries) if (each === undefined) misfit();
  return entries;
}

/** The value of `key` in the map at `p`, from which nothing is consumed. */
export function readTag(r: Reader, p: number, key: string, depth?: number): unknown {
  for (let left = readMapHeader(r, p); left > 0; left--) {
    if (readString(r, r.position) === key) return readString(r, r.position);
    skip(r, r.position, depth);
  }
  return misfit();
}

/** Any value, as plain JavaScript; undefined is a misfit, since it may mean that nothing is there. */
export function readAny(r: Reader, p: number, depth?: number): unknown {
  const value = readPlain(r, p, depth);
  return value === undefined ? misfit() : value;
}

/** Any value but undefined. */
export function writeAny(b: Uint8Array, p: number, value: unknown, depth?: number): number {
  return value === undefined ? misfit() : writeValue(b, p, value, depth);
}

/** A value that `shape` parses, which is of type `T` then. */
export function readBy<T>(r: Reader, p: number, shape: Shape, depth?: number): T {
  const { value, issues } = run(shape, within(r, readValue(r, p, depth)), Mode.Wire);
  return issues.length > 0 || value === undefined ? misfit() : (value as T);
}

/** A value that fits `shape`, as it is. */
export function writeBy(b: Uint8Array, p: number, value: unknown, shape: Shape, depth?: number): number {
  return run(shape, value, Mode.Given).issues.length > 0 ? misfit() : writeAny(b, p, value, depth);
}
