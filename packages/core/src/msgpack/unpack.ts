import { readPlain, readValue } from "./read-value.js";
import { readWhole } from "./reader.js";

/**
 * Decodes the single value in `bytes[start, end)`: maps become objects, and 64-bit integers become numbers if these are
 * exact, else bigints. Throws on anything else. Binary values are copies.
 */
export function unpack(bytes: Uint8Array, start: number, end: number): unknown {
  return readWhole(bytes, start, end, readPlain);
}

/** As `unpack`, but losing nothing: see `readValue`. */
export function unpackExactly(bytes: Uint8Array, start: number, end: number): unknown {
  return readWhole(bytes, start, end, readValue);
}
