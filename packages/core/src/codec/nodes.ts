import { RpcError } from "../errors.js";
import { placesWith } from "../msgpack/places.js";
import { tableValues } from "../msgpack/reader.js";

/**
 * Maximum number of values in a message that is passed to zod, counting objects, arrays, items, texts and numbers. zod
 * cannot be interrupted, and reports every invalid value.
 */
export const MAX_NODES = 100_000;

/** Throws `resource_exhausted` if `value` contains more than `most` values, including itself. */
export function requireFewNodes(value: unknown, most: number): void {
  if (nodesLeft(value, most) >= 0) return;
  const remedy = "Generate the codec (quicrpc gen), or allow zodCodec more: { maxNodes }";
  throw new RpcError("resource_exhausted", `the message has more than ${most} values, too many for zod. ${remedy}`);
}

/**
 * Returns the number of values in `value`, including itself, or a number above `most` if there are more. Unused property
 * slots of its objects count toward the decode limit, because zod copies them.
 */
export function nodesOf(value: unknown, most: number): number {
  return most - nodesLeft(value, most, placesWith);
}

/**
 * Subtracts the number of values in `value`, including itself, from `left`. Returns the difference, which is negative
 * if `value` contains more than `left` values.
 *
 * @param placesOf called with the name of each property and the result of the previous call; counts the property slots
 * of an object
 */
function nodesLeft(value: unknown, left: number, placesOf?: (name: string, places: number) => number): number {
  let rest = left - 1;
  if (rest < 0 || typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return rest;
  const isMap = value instanceof Map;
  if (isMap || Array.isArray(value) || value instanceof Set) {
    for (const item of value as Iterable<unknown>) {
      // An entry of a map is an array here; only its key and its value count.
      rest = nodesLeft(item, isMap ? rest + 1 : rest, placesOf);
      if (rest < 0) break;
    }
  } else {
    let places = 0;
    for (const key in value) {
      if (placesOf !== undefined) places = placesOf(key, places);
      rest = nodesLeft((value as Record<string, unknown>)[key], rest, placesOf);
      if (rest < 0) break;
    }
  }
  return rest;
}

/** Maximum nested values counted in a value of unknown structure, which may contain itself. */
const MOST_WEIGHED = 64;

/**
 * Returns how many values to count toward the decode limit for `value`, which the program created while decoding.
 *
 * @param most maximum nested values to count
 */
export function weightOf(value: unknown, most: number = MOST_WEIGHED): number {
  // A primitive value takes one slot of an object.
  if (typeof value !== "object" || value === null) return 0.5;
  const table = value instanceof Map || value instanceof Set ? tableValues(value.size) : 0;
  return table + 2 * (most - Math.max(0, nodesLeft(value, most)));
}
