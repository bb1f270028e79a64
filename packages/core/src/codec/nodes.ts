import { RpcError } from "../errors.js";
import { placesWith } from "../msgpack/places.js";
import { tableValues } from "../msgpack/reader.js";

/**
 * Values in a message that zod is given whole: objects, arrays, their items, texts, numbers. zod cannot be stopped, and tells of every
 * one that does not fit.
 */
export const MAX_NODES = 100_000;

/** Throws `resource_exhausted` where `value` has more than `most` values, itself and those inside counted. */
export function requireFewNodes(value: unknown, most: number): void {
  if (nodesLeft(value, most) >= 0) return;
  const remedy = "Generate the codec (quicrpc gen), or allow zodCodec more: { maxNodes }";
  throw new RpcError("resource_exhausted", `the message has more than ${most} values, too many for zod. ${remedy}`);
}

/** Whether `value` has at most `most` values. The places of its objects count: zod copies them. */
export function hasFewNodes(value: unknown, most: number): boolean {
  return nodesLeft(value, most, placesWith) >= 0;
}

/**
 * How many of `left` values there may be beside those of `value`; negative where there are more.
 *
 * @param placesOf is called with the name of each property, and what it returned for the one before
 */
function nodesLeft(value: unknown, left: number, placesOf?: (name: string, places: number) => number): number {
  let rest = left - 1;
  if (rest < 0 || typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return rest;
  if (value instanceof Map) {
    for (const [key, item] of value) {
      rest = nodesLeft(item, nodesLeft(key, rest, placesOf), placesOf);
      if (rest < 0) break;
    }
  } else if (Array.isArray(value) || value instanceof Set) {
    for (const item of value as Iterable<unknown>) {
      rest = nodesLeft(item, rest, placesOf);
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

/** Values inside another that are weighed where nothing else is known of it: it may hold itself. */
const MOST_WEIGHED = 64;

/**
 * As how many values of a message `value` counts, which is of the program's own making.
 *
 * @param most how many values inside it are weighed
 */
export function weightOf(value: unknown, most: number = MOST_WEIGHED): number {
  // It has a place in an object.
  if (typeof value !== "object" || value === null) return 0.5;
  const table = value instanceof Map || value instanceof Set ? tableValues(value.size) : 0;
  return table + 2 * (most - Math.max(0, nodesLeft(value, most)));
}
