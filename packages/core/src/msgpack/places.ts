// V8 keeps properties whose names are integers in an array with a slot for each number below the largest, unless that
// would leave more than 1024 slots empty: `{ "1000": 1 }` takes 12 KB.
import { countKey } from "./decode-within.js";
import { count } from "./reader.js";

/**
 * Maximum distance of an integer name from the end of V8's array. If the name is further away, V8 uses a hash table
 * instead.
 */
const MAX_GAP = 1024;
const MIN_GROWTH = 16;
/** Number of array slots that take as much memory as one value. */
const OF_VALUE = 4;

/**
 * Counts the property `name` among the distinct keys of a message. If the name is an integer, the array slots that V8
 * adds to the object count toward the message's decode limit, too.
 *
 * @param places number of array slots that the object has; 0 at first
 * @returns number of array slots that the object has with the property
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
