import { placesWith } from "./places.js";
import { MAX_DEPTH } from "../fixed-limits.js";

/** A decoded MessagePack map, with keys of any type. */
export class WireMap {
  readonly entries: readonly (readonly [key: unknown, value: unknown])[];

  constructor(entries: readonly (readonly [key: unknown, value: unknown])[]) {
    this.entries = entries;
  }

  /**
   * Converts the map to an object, after applying `convert` to each key and value. If a key cannot be a property name, the
   * result is a Map.
   */
  toObject(convert: (value: unknown) => unknown): object {
    let object: object = {};
    let places = 0;
    for (const [key, value] of this.entries) {
      const name = convert(key);
      places = placesWithKey(name, places);
      object = withEntry(object, name, convert(value));
    }
    return object;
  }
}

/**
 * Adds a decoded map entry to `object` and returns the result. The last of equal keys wins; the key `__proto__` is
 * dropped. If a key cannot be a property name, the result is a Map, in which the earlier keys are texts.
 */
export function withEntry(object: object, key: unknown, value: unknown): object {
  const name = isName(key) ? String(key) : key;
  if (object instanceof Map) return object.set(name, value);
  if (typeof name !== "string") return new Map<unknown, unknown>(Object.entries(object)).set(name, value);
  if (name !== "__proto__") (object as Record<string, unknown>)[name] = value;
  return object;
}

/** Counts a key that `withEntry` is about to add: like `placesWith`, but ignores keys that cannot be property names. */
export function placesWithKey(key: unknown, places: number): number {
  return isName(key) ? placesWith(String(key), places) : places;
}

/** Returns true if the map key `key` can be a property name after conversion to text. */
export function isName(key: unknown): boolean {
  return typeof key !== "object" && key !== undefined;
}

/**
 * Converts a decoded MessagePack value to plain JavaScript: maps become objects, and 64-bit integers become numbers if
 * the conversion is exact (unless `bigints` is true).
 */
export function plain(value: unknown, bigints = false): unknown {
  if (typeof value === "bigint") return bigints ? value : safeNumber(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof WireMap) return value.toObject((member) => plain(member, bigints));
  return Array.isArray(value) ? value.map((each) => plain(each, bigints)) : value;
}

export function safeNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Returns the name of the platform class of an object, such as `Error`; `Object` for objects of other classes. */
export function classOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

export function nestingError(): RangeError {
  return new RangeError(`nested deeper than ${MAX_DEPTH} levels, or referring to itself`);
}
