// Helpers of compiled codecs, in addition to the basic readers and writers.
import { isMisfit, misfit } from "../msgpack/misfit.js";
import {
  allowance,
  countMismatch,
  type Reader,
  readMapHeader,
  readString,
  readWhole,
  skip,
  within,
} from "../msgpack/reader.js";
import { readPlain, readValue } from "../msgpack/read-value.js";
import { writeValue } from "../msgpack/write-value.js";
import type { Read } from "./halves.js";
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

/** The keys of `value` that are not among `names`, those that it inherits included, as zod has it. None has a property that is undefined. */
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

/** The kind of a value of a program, by which options of a union are told apart. */
export function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

/** The same of the value at `p`; `bigint` for an integer of 64 bits. */
export function kindAt(r: Reader, p: number): string {
  const byte = r.bytes[p] as number;
  if (byte < 0x80 || byte >= 0xe0) return "number";
  if (byte < 0xc0) return byte < 0x90 ? "object" : byte < 0xa0 ? "array" : "string";
  return KINDS[byte - 0xc0] as string;
}

/** Kinds by the first byte of a value, from 0xc0 on. */
const KINDS: readonly string[] = /* @__PURE__ */ (
  "null,,boolean,boolean,bytes,bytes,bytes,date,date,date,number,number,number,number,number,bigint," +
  "number,number,number,bigint,date,date,date,date,date,string,string,string,array,array,object,object"
).split(",");

/**
 * Has the next option of a union tried, since one did not fit.
 *
 * @param error what was thrown: rethrown unless it is a misfit
 * @param allowed the values that might be read before that option was: those that were read since are not kept
 */
export function tryNext(error: unknown, allowed: number = allowance.values): void {
  if (!isMisfit(error) || allowance.values < 0) throw error;
  countMismatch();
  allowance.values = allowed;
}

/** Whether `value` is one of many literals. */
export function isOneOf<T>(value: unknown, values: ReadonlySet<T>): value is T {
  return values.has(value as T);
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

/** Returns `end`, the position after a value that was written, once its checks have passed. */
export function writeChecked(end: number, _checked: unknown): number {
  return end;
}

/** The same for a value of which `check` gets what its receiver reads: the checks of a schema see what the schemas inside it result in. */
export function writeAndRead<T>(b: Uint8Array, p: number, end: number, read: Read<T>, check: (value: T) => T): number {
  // Without room for all of it, it is written again.
  if (end <= b.length) check(readWhole(b, p, end, read));
  return end;
}

/** Reads a value and parses it with `shape`, whose result has the type `T`. */
export function readBy<T>(r: Reader, p: number, shape: Shape, depth?: number): T {
  const { value, issues } = run(shape, within(r, readValue(r, p, depth)), Mode.Wire);
  return issues.length > 0 || value === undefined ? misfit() : (value as T);
}

/** Checks a value with `shape` and writes it, without keys that the shape does not declare. */
export function writeBy(b: Uint8Array, p: number, given: unknown, shape: Shape, depth?: number): number {
  const { value, issues } = run(shape, given, Mode.Sent);
  return issues.length > 0 ? misfit() : writeAny(b, p, value, depth);
}
