import { RpcError } from "../errors.js";
import { placesWith } from "../msgpack/places.js";
import { tableValues } from "../msgpack/reader.js";

/**
 * Most values of a message that is passed to zod: objects, arrays, items, texts and numbers. zod cannot be interrupted,
 * and reports every invalid value.
 */
export const MAX_NODES = 100_000;

/** Throws `resource_exhausted` if `value` contains more than `most` values, including itself. */
export function requireFewNodes(value: unknown, most: number): void {
  if (nodesLeft(value, most) >= 0) return;
  const remedy = "Generate the codec (quicrpc gen), or allow zodCodec more: { maxNodes }";
  throw new RpcError("resource_exhausted", `the message has more than ${most} values, too many for zod. ${remedy}`);
}

/** Returns true if `value` contains at most `most` values. Property slots of its objects count, because zod copies them. */
export function hasFewNodes(value: unknown, most: number): boolean {
  return nodesLeft(value, most, placesWith) >= 0;
}

/**
 * Returns how many of `left` values remain after counting `value`; negative if it has more.
 *
 * @param placesOf called with the name of each property and its result for the previous one
 */
function nodesLeft(value: unknown, left: number, placesOf?: (name: string, places: number) => number): number {
  let rest = left - 1;
  if (rest < 0 || typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return rest;
  const isMap = value instanceof Map;
  if (isMap || Array.isArray(value) || value instanceof Set) {
    for (const item of value as Iterable<unknown>) {
      // An entry of a map, which is an array here, counts as its key and its value.
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

/** Most nested values that are counted for a value of unknown structure, which may contain itself. */
const MOST_WEIGHED = 64;

/**
 * Returns how many values of a message to charge for `value`, which the program itself created.
 *
 * @param most most nested values to count
 */
export function weightOf(value: unknown, most: number = MOST_WEIGHED): number {
  // It takes a place in an object.
  if (typeof value !== "object" || value === null) return 0.5;
  const table = value instanceof Map || value instanceof Set ? tableValues(value.size) : 0;
  return table + 2 * (most - Math.max(0, nodesLeft(value, most)));
}
