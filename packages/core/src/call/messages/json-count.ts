import { MAX_DEPTH } from "../../fixed-limits.js";
import { count } from "../../msgpack/reader.js";
import { tooDeep } from "./nesting.js";

/**
 * Counts the values of JSON before it is parsed, against the memory that its message may take. Brackets are counted where they lie, those in
 * strings aside. Throws where there are more values, or more than `maxDepth` levels.
 */
export function countJson(bytes: Uint8Array, start: number, end: number, maxDepth: number = MAX_DEPTH): void {
  let depth = 0;
  let quoted = false;
  let values = 1;
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
    else if (byte === COMMA || byte === COLON) values++;
    if (depth > maxDepth) throw tooDeep();
  }
  count(values);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
