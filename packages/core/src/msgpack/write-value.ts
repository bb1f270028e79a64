import { MAX_DEPTH } from "../fixed-limits.js";
import { writeArrayHeader, writeMapHeader, writeString } from "./write.js";
import { writeBigInt, writeBoolean, writeBytes, writeDate, writeMark, writeNil } from "./write-scalars.js";
import { writeAnyNumber } from "./number.js";
import { classOf, nestingError } from "./value.js";

/**
 * Writes any value that MessagePack can represent. Omits undefined properties; writes a Map as a map and a Set as an
 * array. Throws `TypeError` if the value cannot be encoded or its receiver would read something else.
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
      return writeMark(b, p, 0);
    case "object":
      return value === null ? writeNil(b, p) : writeObject(b, p, value, depth);
    default:
      return refuse(typeof value, depth);
  }
}

function writeObject(b: Uint8Array, p: number, value: object, depth: number): number {
  const bytes = sentBytes(value);
  if (bytes) return writeBytes(b, p, bytes);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? writeMark(b, p, 0xff) : writeDate(b, p, value);
  const isArray = Array.isArray(value) || value instanceof Set;
  const { toJSON } = value as { toJSON?: unknown };
  if (!isArray && typeof toJSON === "function") return writeValue(b, p, toJSON.call(value), depth);
  if (depth === 0) throw nestingError();
  const items: unknown[] = isArray
    ? [...(value as unknown[])]
    : (value instanceof Map ? [...value] : sentFields(value, depth)).flat();
  let q = isArray ? writeArrayHeader(b, p, items.length) : writeMapHeader(b, p, items.length / 2);
  for (let i = 0; i < items.length; i++) {
    trail[MAX_DEPTH - depth] = isArray ? i : items[i & ~1];
    q = writeValue(b, q, items[i], depth - 1);
  }
  return q;
}

/** Path of the value that is being written: the keys that lead to it, by nesting level. */
const trail: unknown[] = [];

function refuse(subject: string, depth: number): never {
  throw new TypeError(`${subject} at /${trail.slice(0, MAX_DEPTH - depth).join("/")}`);
}

/** Names of undefined properties that are sent nevertheless, by object. */
const keptKeys = new WeakMap<object, Set<string>>();

/** Marks the property `key` of `object` as to be sent even if it is undefined. */
export function keepKey(object: object, key: string): void {
  if (Object.hasOwn(object, key) && (object as Record<string, unknown>)[key] === undefined)
    keptKeys.set(object, (keptKeys.get(object) ?? new Set()).add(key));
}

/** Returns true if the property `key` of `object` is sent even though it is undefined. */
export function isKept(object: object, key: string): boolean {
  return keptKeys.get(object)?.has(key) === true;
}

/** The bytes to send for typed arrays other than `Uint8Array` that a schema has accepted. */
export const sentAs: WeakMap<object, Uint8Array> = new WeakMap();

/** Returns the bytes to send for `value`; undefined if it is not sent as binary data. */
export const sentBytes = (value: object): Uint8Array | undefined =>
  value instanceof Uint8Array ? value : sentAs.get(value);

/**
 * Returns the properties of `value` that are sent. Throws `TypeError` for an object of a platform class, such as an
 * `Error`.
 */
export function sentFields(value: object, depth: number = MAX_DEPTH): [key: string, field: unknown][] {
  const name = classOf(value);
  if (name !== "Object") refuse(name, depth);
  return Object.entries(value).filter(([key, field]) => field !== undefined || isKept(value, key));
}
