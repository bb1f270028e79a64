import { MAX_DISTINCT_KEYS } from "../fixed-limits.js";
import { misfit } from "./misfit.js";
import { allowance, count } from "./reader.js";

/** Keys of a message that are read before the distinct ones are counted: few messages have more. */
const UNCOUNTED = 4096;

/** After this many distinct keys in a message, each further key is charged `KEY_VALUES`. */
const MANY = 1024;
/**
 * Values that a key is charged then: V8 no longer finds a hidden class for such objects, and makes each a hash table, which
 * takes ten times as long and 200 bytes more.
 */
const KEY_VALUES = 4;

let uncounted = 0;
let distinct: Set<number | string> | undefined;

/** Forgets the keys of the last message. */
export function resetKeys(): void {
  uncounted = 0;
  distinct = undefined;
}

/**
 * Counts `key` (or a hash of it) among the distinct keys of the current message. V8 adds each to a global table of
 * names, which takes time that the size of a message does not reflect. Throws if there are more than
 * `MAX_DISTINCT_KEYS`.
 */
export function countKey(key: number | string): void {
  if (uncounted < UNCOUNTED) uncounted++;
  else if (allowance.values !== Number.POSITIVE_INFINITY) countDistinct(key);
}

function countDistinct(key: number | string): void {
  distinct ??= new Set();
  distinct.add(key);
  if (distinct.size > MANY) count(KEY_VALUES);
  if (!hasTooManyKeys()) return;
  // Stops every other reader of this message, too.
  allowance.values = -1;
  misfit();
}

/** Whether the decoding of this message stopped because of its keys. */
export function hasTooManyKeys(): boolean {
  return distinct !== undefined && distinct.size > MAX_DISTINCT_KEYS;
}
