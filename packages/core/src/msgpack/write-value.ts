import { MAX_DEPTH } from "../fixed-limits.js";
import { writeArrayHeader, writeMapHeader, writeString } from "./write.js";
import { writeBigInt, writeBoolean, writeBytes, writeDate, writeNil, writeUndefined } from "./write-scalars.js";
import { writeAnyNumber } from "./write-number.js";
import { tooDeep } from "./value.js";

/**
 * Writes any value that MessagePack can represent. Undefined properties are left out; a Map is written as a map and a
 * Set as an array. Throws `TypeError` if the value cannot be encoded.
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

/** Writes an invalid date as a timestamp of one byte, like msgpackr. */
function writeInvalidDate(b: Uint8Array, p: number): number {
  b[p] = 0xd4;
  b[p + 1] = 0xff;
  b[p + 2] = 0xff;
  return p + 3;
}
