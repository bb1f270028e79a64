// V8 keeps properties whose names are numbers in a list that has places for all numbers below the largest, if that is at most a thousand beyond
// its end: `{ "1000": 1 }` takes 12 KB.
import { countKey } from "./decode-within.js";
import { count } from "./reader.js";

/** A number that is further from the end of the list has it be a table instead. */
const MAX_GAP = 1024;
const MIN_GROWTH = 16;
/** Places that take as much memory as one value. */
const OF_VALUE = 4;

/**
 * Counts the property `name` among the distinct keys of a message, and the places that an object gets with it as values of the message.
 *
 * @param places those that it has: none at first
 * @returns those that it has then
 */
export function placesWith(name: string, places: number): number {
  countKey(name);
  const first = name.charCodeAt(0);
  if (!(first >= 48 && first <= 57) || name.length > 10) return places;
  const size = Number(name) + 1;
  if (!(size > places && size - places <= MAX_GAP)) return places;
  const more = size + (size >> 1) + MIN_GROWTH;
  count((more - places) / OF_VALUE);
  return more;
}
