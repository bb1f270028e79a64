import { MAX_DEPTH } from "../limits.js";
import {
  writeAnyNumber,
  writeArrayHeader,
  writeBigInt,
  writeBoolean,
  writeBytes,
  writeDate,
  writeMapHeader,
  writeNil,
  writeString,
  writeUndefined,
} from "./write.js";

/**
 * Any value that MessagePack can carry. Properties that are undefined are left out; a Map is a map and a Set is an array.
 * Throws `TypeError` for what cannot be carried.
 */
export function writeValue(b: Uint8Array, p: number, value: unknown, depth: number = MAX_DEPTH): number {
  switch (typeof value) {
    case "string":
      return writeString(b, p, value);
    case "number":
      return writeAnyNumber(b, p, value);
    case "boolean":
      return writeBoolean(b, p, value);
    case "bigint":
      return writeBigInt(b, p, value);
    case "undefined":
      return writeUndefined(b, p);
    case "object":
      return value === null ? writeNil(b, p) : writeObject(b, p, value, depth);
    default:
      throw new TypeError(`a ${typeof value} cannot be sent`);
  }
}

function writeObject(b: Uint8Array, p: number, value: object, depth: number): number {
  if (Array.isArray(value)) return writeItems(b, p, value, depth - 1);
  if (value instanceof Uint8Array) return writeBytes(b, p, value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? writeInvalidDate(b, p) : writeDate(b, p, value);
  if (value instanceof Map) return writeMap(b, p, value, depth - 1);
  if (value instanceof Set) return writeItems(b, p, [...(value as Set<unknown>)], depth - 1);
  if (ArrayBuffer.isView(value)) {
    return writeBytes(b, p, new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
  if (value instanceof ArrayBuffer) return writeBytes(b, p, new Uint8Array(value));
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return writeValue(b, p, toJSON.call(value), depth);
  if (depth === 0) throw tooDeep();
  const fields = Object.entries(value).filter(([key, field]) => field !== undefined || isKept(value, key));
  let q = writeMapHeader(b, p, fields.length);
  for (const [key, field] of fields) q = writeValue(b, writeString(b, q, key), field, depth - 1);
  return q;
}

function writeItems(b: Uint8Array, p: number, items: readonly unknown[], depth: number): number {
  if (depth < 0) throw tooDeep();
  let q = writeArrayHeader(b, p, items.length);
  for (let i = 0; i < items.length; i++) q = writeValue(b, q, items[i], depth);
  return q;
}

function writeMap(b: Uint8Array, p: number, map: ReadonlyMap<unknown, unknown>, depth: number): number {
  if (depth < 0) throw tooDeep();
  let q = writeMapHeader(b, p, map.size);
  for (const [key, value] of map) q = writeValue(b, writeValue(b, q, key, depth), value, depth);
  return q;
}

/** The properties that are undefined and have to be sent nevertheless, of objects that have such. */
const kept = new WeakMap<object, Set<string>>();

/** Has the property `key` of `object` sent though it is undefined: its schema requires that it is there. */
export function keepUndefined(object: object, key: string): void {
  const keys = kept.get(object);
  if (keys === undefined) kept.set(object, new Set([key]));
  else keys.add(key);
}

/** Whether `keepUndefined` was asked for this property. */
export function isKept(object: object, key: string): boolean {
  return kept.get(object)?.has(key) === true;
}

/** A timestamp of one byte, which is none: as msgpackr has it. */
function writeInvalidDate(b: Uint8Array, p: number): number {
  b[p] = 0xd4;
  b[p + 1] = 0xff;
  b[p + 2] = 0xff;
  return p + 3;
}

/** A map as it is on the wire, where keys may be of any type. */
export class WireMap {
  readonly entries: readonly (readonly [key: unknown, value: unknown])[];

  constructor(entries: readonly (readonly [key: unknown, value: unknown])[]) {
    this.entries = entries;
  }

  /** As an object, or a Map, by `withEntry`. */
  toObject(of: (value: unknown) => unknown): object {
    let object: object = {};
    for (const [key, value] of this.entries) object = withEntry(object, of(key), of(value));
    return object;
  }
}

/**
 * Adds an entry of a map from the wire to `object`, and returns that: the last of equal keys holds, and a key `__proto__` is left out.
 * From the first key on that cannot be the name of a property it is a Map, in which the other keys are text nevertheless.
 */
export function withEntry(object: object, key: unknown, value: unknown): object {
  const name = isName(key) ? String(key) : key;
  if (object instanceof Map) return object.set(name, value);
  if (typeof name !== "string") return new Map<unknown, unknown>(Object.entries(object)).set(name, value);
  if (name !== "__proto__") (object as Record<string, unknown>)[name] = value;
  return object;
}

/** Whether a key of a map can be that of an object, as text. */
export function isName(key: unknown): boolean {
  return typeof key === "string" || typeof key === "number" || typeof key === "bigint" || typeof key === "boolean";
}

/**
 * A value from the wire as plain JavaScript: maps are objects, and integers of 64 bits numbers where these are exact
 * (unless `bigints`).
 */
export function plain(value: unknown, bigints = false): unknown {
  if (typeof value === "bigint") return bigints ? value : safeNumber(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof WireMap) return value.toObject((each) => plain(each, bigints));
  return Array.isArray(value) ? value.map((each) => plain(each, bigints)) : value;
}

/** `value` as a number where that is exact. */
export function safeNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Makes the error for values that are nested deeper than `MAX_DEPTH`. */
export function tooDeep(): RangeError {
  return new RangeError(`nested deeper than ${MAX_DEPTH} levels`);
}
