import { placesWith } from "./places.js";
import { MAX_DEPTH } from "../fixed-limits.js";

/** A map as it is on the wire, with keys of any type. */
export class WireMap {
  readonly entries: readonly (readonly [key: unknown, value: unknown])[];

  constructor(entries: readonly (readonly [key: unknown, value: unknown])[]) {
    this.entries = entries;
  }

  /** As an object, or a Map, by `withEntry`. */
  toObject(of: (value: unknown) => unknown): object {
    let object: object = {};
    let places = 0;
    for (const [key, value] of this.entries) {
      const name = of(key);
      places = placesWithKey(name, places);
      object = withEntry(object, name, of(value));
    }
    return object;
  }
}

/**
 * Adds a decoded map entry to `object` and returns the result. The last of equal keys wins, and a key `__proto__` is
 * dropped. From the first key that cannot be a property name, the result is a Map, which keeps the earlier keys as
 * text.
 */
export function withEntry(object: object, key: unknown, value: unknown): object {
  const name = isName(key) ? String(key) : key;
  if (object instanceof Map) return object.set(name, value);
  if (typeof name !== "string") return new Map<unknown, unknown>(Object.entries(object)).set(name, value);
  if (name !== "__proto__") (object as Record<string, unknown>)[name] = value;
  return object;
}

/** As `placesWith`, for an entry that `withEntry` is to add. */
export function placesWithKey(key: unknown, places: number): number {
  return isName(key) ? placesWith(String(key), places) : places;
}

/** Returns true if a key of a map can be the name of a property, as text. */
export function isName(key: unknown): boolean {
  return typeof key !== "object" && key !== undefined;
}

/**
 * Converts a value from the wire to plain JavaScript: maps become objects, and 64-bit integers become numbers if these
 * are exact (unless `bigints` is true).
 */
export function plain(value: unknown, bigints = false): unknown {
  if (typeof value === "bigint") return bigints ? value : safeNumber(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof WireMap) return value.toObject((each) => plain(each, bigints));
  return Array.isArray(value) ? value.map((each) => plain(each, bigints)) : value;
}

/** Returns `value` as a number if that is exact. */
export function safeNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** The name of the class of an object that the platform has, such as `Error`; `Object` for other objects. */
export function classOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** Makes the error for values that are nested deeper than `MAX_DEPTH`. */
export function nestingError(): RangeError {
  return new RangeError(`nested deeper than ${MAX_DEPTH} levels, or referring to itself`);
}
