import { MAX_DEPTH } from "../fixed-limits.js";
import { countKey } from "./decode-within.js";
import { misfit } from "./misfit.js";
import { WireMap, placesWithKey, safeNumber, nestingError, withEntry } from "./value.js";
import { isArray, isMap, readArrayHeader, type Reader, readMapHeader, readString } from "./reader.js";
import { dateOf, readBigInt, readBytes, readDate } from "./read-scalars.js";
import { readAnyNumber } from "./number.js";

/** Reads any value without losing information: maps as `WireMap`, 64-bit integers as bigints. */
export function readValue(r: Reader, p: number, depth: number = MAX_DEPTH): unknown {
  const byte = p < r.end ? (r.bytes[p] as number) : misfit();
  if (isMap(byte)) return readMap(r, p, depth - 1);
  return isArray(byte) ? readArray(r, p, depth - 1, readValue) : readScalar(r, p, byte);
}

/** Reads a value that is neither an array nor a map. `byte` is its first byte. */
export function readScalar(r: Reader, p: number, byte: number): unknown {
  if (byte < 0x80 || byte >= 0xe0) return readAnyNumber(r, p);
  if (byte < 0xc0 || byte >= 0xd9) return readString(r, p);
  if (byte < 0xc4) {
    r.position = p + 1;
    return byte === 0xc0 ? null : byte === 0xc1 ? misfit() : byte === 0xc3;
  }
  if (byte < 0xc7) return readBytes(r, p);
  switch (byte) {
    case 0xcf:
    case 0xd3:
      return readBigInt(r, p);
    case 0xd4:
      r.position = p + 3;
      if (r.bytes[p + 1] === 0xff) return dateOf(Number.NaN);
      return r.bytes[p + 1] === 0 ? undefined : misfit();
    case 0xc7:
    case 0xd6:
    case 0xd7:
      return readDate(r, p);
    default:
      return readAnyNumber(r, p);
  }
}

/** Reads any value as plain JavaScript: maps as objects, 64-bit integers as numbers if the conversion is exact. */
export function readPlain(r: Reader, p: number, depth: number = MAX_DEPTH): unknown {
  const byte = p < r.end ? (r.bytes[p] as number) : misfit();
  if (isMap(byte)) return readPlainMap(r, p, depth - 1);
  if (isArray(byte)) return readArray(r, p, depth - 1, readPlain);
  return byte === 0xcf || byte === 0xd3 ? safeNumber(readBigInt(r, p)) : readScalar(r, p, byte);
}

function readPlainMap(r: Reader, p: number, depth: number): object {
  if (depth < 0) throw nestingError();
  let object: object = {};
  let places = 0;
  for (let remaining = readMapHeader(r, p); remaining > 0; remaining--) {
    const key = readPlain(r, r.position, depth);
    places = placesWithKey(key, places);
    object = withEntry(object, key, readPlain(r, r.position, depth));
  }
  return object;
}

function readArray(r: Reader, p: number, depth: number, read: typeof readValue): unknown[] {
  if (depth < 0) throw nestingError();
  const array: unknown[] = [];
  for (let remaining = readArrayHeader(r, p); remaining > 0; remaining--) array.push(read(r, r.position, depth));
  return array;
}

function readMap(r: Reader, p: number, depth: number): WireMap {
  if (depth < 0) throw nestingError();
  const entries: [unknown, unknown][] = [];
  for (let remaining = readMapHeader(r, p); remaining > 0; remaining--) {
    const key = readValue(r, r.position, depth);
    if (typeof key === "string") countKey(key);
    entries.push([key, readValue(r, r.position, depth)]);
  }
  return new WireMap(entries);
}
