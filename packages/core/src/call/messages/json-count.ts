import { MAX_DEPTH, MAX_DISTINCT_KEYS } from "../../fixed-limits.js";
import { countKey } from "../../msgpack/decode-within.js";
import { count } from "../../msgpack/reader.js";
import { tooDeep } from "./nesting.js";

/**
 * Counts the values of a JSON text before it is parsed, and charges them to the memory budget of the message. Throws if
 * there are too many values, too many distinct keys, or more than `maxDepth` nesting levels.
 */
export function countJson(bytes: Uint8Array, start: number, end: number, maxDepth: number = MAX_DEPTH): void {
  let depth = 0;
  let quoted = false;
  let values = 1;
  let keys = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (quoted) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) quoted = false;
    } else if (byte === QUOTE) quoted = true;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      depth++;
      values++;
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
    else if (byte === COMMA) values++;
    else if (byte === COLON) {
      keys++;
      values++;
    }
    if (depth > maxDepth) throw tooDeep();
  }
  // V8 is slow for many objects with different combinations of a few keys, so each further key counts as a value.
  count(values + Math.max(0, keys - MAX_DISTINCT_KEYS));
  if (keys > MAX_DISTINCT_KEYS) countKeys(bytes, start, end);
}

/**
 * Counts the distinct keys by their hashes. The seed is random, so that a peer cannot choose keys with equal hashes.
 */
function countKeys(bytes: Uint8Array, start: number, end: number): void {
  const seed = Math.random() * 2 ** 32;
  let hash = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === COLON) countKey(hash);
    else if (byte === QUOTE) {
      hash = seed | 0;
      for (at++; at < end && bytes[at] !== QUOTE; at++) {
        if (bytes[at] === BACKSLASH) at++;
        hash = Math.imul(hash ^ (bytes[at] as number), FNV_PRIME);
      }
      hash ^= hash >>> 15;
    }
  }
}

const FNV_PRIME = 0x01000193;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
