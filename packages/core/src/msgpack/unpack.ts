import { readPlain, readValue } from "./read-value.js";
import { readWhole } from "./message.js";

/**
 * The one value that fills `bytes[start, end)`: maps are objects, and integers of 64 bits numbers where these are exact, else
 * bigints. Throws on anything else. Binary values are copies.
 */
export function unpack(bytes: Uint8Array, start: number, end: number): unknown {
  return readWhole(bytes, start, end, readPlain);
}

/** As `unpack`, but losing nothing: see `readValue`. */
export function unpackExactly(bytes: Uint8Array, start: number, end: number): unknown {
  return readWhole(bytes, start, end, readValue);
}
