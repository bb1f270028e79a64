import { MAX_DEPTH } from "../limits.js";
import { misfit } from "./misfit.js";
import { readUtf8 } from "./text.js";
import { safeNumber, tooDeep, WireMap, withEntry } from "./value.js";

const NOTHING = new Uint8Array(0);
/** Bytes of a number, by its first byte, from 0xca on. */
const NUMBER_SIZES: readonly number[] = [5, 9, 2, 3, 5, 9, 2, 3, 5, 9];

/**
 * Reads one payload. Readers take the reader and a position, return the value, and leave the position after it in
 * `position`. They may look beyond `end`, never beyond the bytes; whoever began checks `position` against `end`.
 * Anything unexpected is a misfit.
 */
export class Reader {
  bytes: Uint8Array = NOTHING;
  view: DataView = new DataView(NOTHING.buffer);
  position = 0;
  end = 0;
  /** Entries that are left of a map whose key was looked for. */
  left = 0;

  /** Sets out to read `bytes[start, end)`. */
  begin(bytes: Uint8Array, start: number, end: number): void {
    // Payloads come many to a buffer, and a view costs more than a small payload.
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    this.position = start;
    this.end = end;
  }
}

export function readNil(r: Reader, p: number): null {
  r.position = p + 1;
  return r.bytes[p] === 0xc0 ? null : misfit();
}

export function readBoolean(r: Reader, p: number): boolean {
  const byte = r.bytes[p];
  r.position = p + 1;
  return byte === 0xc3 ? true : byte === 0xc2 ? false : misfit();
}

/** A safe integer, in any of the forms of a number. */
export function readInt(r: Reader, p: number): number {
  const byte = r.bytes[p] as number;
  if (byte < 0x80) {
    r.position = p + 1;
    return byte;
  }
  const value = readAnyNumber(r, p);
  return Number.isSafeInteger(value) ? value : misfit();
}

/** A finite number. */
export function readNumber(r: Reader, p: number): number {
  if (r.bytes[p] === 0xcb) {
    const value = r.view.getFloat64(p + 1);
    r.position = p + 9;
    return value - value === 0 ? value : misfit();
  }
  const value = readAnyNumber(r, p);
  return value - value === 0 ? value : misfit();
}

/** 64-bit integers only where a number is exact. */
function readAnyNumber(r: Reader, p: number): number {
  const { bytes, view } = r;
  const byte = bytes[p] as number;
  if (byte < 0x80) {
    r.position = p + 1;
    return byte;
  }
  if (byte >= 0xe0) {
    r.position = p + 1;
    return byte - 0x100;
  }
  const q = p + 1;
  r.position = p + (NUMBER_SIZES[byte - 0xca] ?? 0);
  switch (byte) {
    case 0xca:
      return view.getFloat32(q);
    case 0xcb:
      return view.getFloat64(q);
    case 0xcc:
      return view.getUint8(q);
    case 0xcd:
      return view.getUint16(q);
    case 0xce:
      return view.getUint32(q);
    case 0xd0:
      return view.getInt8(q);
    case 0xd1:
      return view.getInt16(q);
    case 0xd2:
      return view.getInt32(q);
    case 0xcf:
    case 0xd3: {
      const high = byte === 0xcf ? view.getUint32(q) : view.getInt32(q);
      const value = high * 0x100000000 + view.getUint32(q + 4);
      return Number.isSafeInteger(value) ? value : misfit();
    }
    default:
      return misfit();
  }
}

/** An integer of 64 bits, as senders write a bigint. */
export function readBigInt(r: Reader, p: number): bigint {
  const byte = r.bytes[p];
  r.position = p + 9;
  if (byte === 0xd3) return r.view.getBigInt64(p + 1);
  return byte === 0xcf ? r.view.getBigUint64(p + 1) : misfit();
}

export function readString(r: Reader, p: number): string {
  const { bytes } = r;
  const byte = bytes[p] as number;
  if (byte >> 5 === 5) return readText(r, p + 1, byte & 31);
  const length = readLength(r, p, byte - 0xd9);
  return readText(r, r.position, length);
}

/**
 * How many bytes or elements follow, as it stands in 1, 2 or 4 bytes after the first, by `form` 0, 1 or 2. Another form is a misfit.
 */
function readLength(r: Reader, p: number, form: number): number {
  const { view } = r;
  const q = p + 1;
  r.position = q + (1 << form);
  if (form === 0) return view.getUint8(q);
  return form === 1 ? view.getUint16(q) : form === 2 ? view.getUint32(q) : misfit();
}

function readText(r: Reader, start: number, length: number): string {
  const stop = start + length;
  if (stop > r.end) misfit();
  r.position = stop;
  return readUtf8(r.bytes, start, stop);
}

/** A copy. */
export function readBytes(r: Reader, p: number): Uint8Array {
  const length = readLength(r, p, (r.bytes[p] as number) - 0xc4);
  const start = r.position;
  const stop = start + length;
  if (stop > r.end) misfit();
  r.position = stop;
  count(BYTES_VALUES);
  // Not bytes.slice: a Buffer's shares its memory.
  return Uint8Array.prototype.slice.call(r.bytes, start, stop);
}

/** A valid date of the timestamp extension, in any of its three forms. */
export function readDate(r: Reader, p: number): Date {
  const { bytes, view } = r;
  const form = bytes[p];
  const long = form === 0xc7;
  // A timestamp has twelve bytes after 0xc7 and its length, eight after 0xd7, or four after 0xd6.
  const start = p + (long ? 3 : 2);
  const end = start + (long ? 12 : form === 0xd7 ? 8 : 4);
  if ((long ? bytes[p + 1] !== 12 : form !== 0xd7 && form !== 0xd6) || bytes[start - 1] !== 0xff) misfit();
  r.position = end;
  let seconds = view.getUint32(end - 4);
  let nanoseconds = 0;
  if (long) {
    nanoseconds = view.getUint32(start);
    seconds += view.getInt32(start + 4) * 0x100000000;
  } else if (form === 0xd7) {
    const high = view.getUint32(start);
    nanoseconds = high >>> 2;
    seconds += (high & 3) * 0x100000000;
  }
  if (nanoseconds > 999_999_999) misfit();
  const date = dateOf(seconds * 1000 + nanoseconds / 1_000_000);
  return Number.isNaN(date.getTime()) ? misfit() : date;
}

/** A date of so many milliseconds since the epoch. */
function dateOf(milliseconds: number): Date {
  count(DATE_VALUES);
  return new Date(milliseconds);
}

/** How many bytes an extension has, whose type is at the reader's position then; `byte` is its first. */
export function readExtensionLength(r: Reader, p: number, byte: number): number {
  if (byte < 0xd4) return readLength(r, p, byte - 0xc7);
  r.position = p + 1;
  return 1 << (byte - 0xd4);
}

/** Values that may still be read, by whoever reads: see `count`. */
export const allowance: { values: number } = { values: Number.POSITIVE_INFINITY };

/** Values that bytes and a date count beside themselves: the objects of either take more memory than other small values. */
export const BYTES_VALUES = 5;
const DATE_VALUES = 3;

/** How many elements follow: at most as many as there are bytes. */
export function readArrayHeader(r: Reader, p: number): number {
  const byte = r.bytes[p] as number;
  if (byte >> 4 === 9) {
    r.position = p + 1;
    return counted(byte & 15, 1);
  }
  return counted(readLongHeader(r, p, byte - 0xdc), 1);
}

/** How many entries follow: at most as many as there are bytes. */
export function readMapHeader(r: Reader, p: number): number {
  const byte = r.bytes[p] as number;
  if (byte >> 4 === 8) {
    r.position = p + 1;
    return counted(byte & 15, 2);
  }
  return counted(readLongHeader(r, p, byte - 0xde), 2);
}

/** The same for an object of `expected` fields, which count for nothing where there are no others. */
export function readFieldsHeader(r: Reader, p: number, expected: number): number {
  if (r.bytes[p] !== (0x80 | expected) || expected > 15) return readOtherHeader(r, p, expected);
  r.position = p + 1;
  return expected;
}

function readOtherHeader(r: Reader, p: number, expected: number): number {
  const allowed = allowance.values;
  const length = readMapHeader(r, p);
  if (length === expected) allowance.values = allowed;
  return length;
}

/** Counts a container and what it holds: so many values `each`. */
function counted(length: number, each: number): number {
  count(length * each + 1);
  return length;
}

/** Counts values that are about to be read. A misfit where they are too many. */
export function count(values: number): void {
  if ((allowance.values -= values) < 0) misfit();
}

function readLongHeader(r: Reader, p: number, form: number): number {
  const count = readLength(r, p, form < 0 ? form : form + 1);
  return count <= r.end - r.position ? count : misfit();
}

/** Levels that are passed over without counting those around them, which in a schema without recursion are few. */
const MAX_SKIPPED = MAX_DEPTH / 2;

/** Passes over the value at `p`, whatever it is. One nested deeper than `depth` levels is a misfit. */
export function skip(r: Reader, p: number, depth: number = MAX_SKIPPED): void {
  const byte = p < r.end ? (r.bytes[p] as number) : misfit();
  if (isMap(byte)) skipItems(r, readMapHeader(r, p) * 2, depth - 1);
  else if (isArray(byte)) skipItems(r, readArrayHeader(r, p), depth - 1);
  else r.position = p + scalarSize(r, p, byte);
}

function skipItems(r: Reader, count: number, depth: number): void {
  if (depth < 0) misfit();
  for (let left = count; left > 0; left--) skip(r, r.position, depth);
}

/** Bytes of the value at `p`, which has none inside it and begins with `byte`. */
function scalarSize(r: Reader, p: number, byte: number): number {
  if (byte < 0x80 || byte >= 0xe0) return 1;
  if (byte < 0xc0) return 1 + (byte & 31);
  if (byte < 0xc4) return 1;
  if (byte >= 0xca && byte < 0xd9) return NUMBER_SIZES[byte - 0xca] ?? 2 + (1 << (byte - 0xd4));
  // Bytes (0xc4), extensions (0xc7, with a byte for their type) and text (0xd9).
  const length = readLength(r, p, (byte - (byte < 0xd9 ? 0xc4 : 0xd9)) % 3);
  return r.position - p + length + (byte >= 0xc7 && byte < 0xca ? 1 : 0);
}

/** Any value, losing nothing: maps as `WireMap`, integers of 64 bits as bigints. */
export function readValue(r: Reader, p: number, depth: number = MAX_DEPTH): unknown {
  const byte = p < r.end ? (r.bytes[p] as number) : misfit();
  if (isMap(byte)) return readMap(r, p, depth - 1);
  return isArray(byte) ? readArray(r, p, depth - 1, readValue) : readScalar(r, p, byte);
}

/** Whether a map begins with this byte. */
export function isMap(byte: number): boolean {
  return (byte & 0xf0) === 0x80 || byte === 0xde || byte === 0xdf;
}

export function isArray(byte: number): boolean {
  return (byte & 0xf0) === 0x90 || byte === 0xdc || byte === 0xdd;
}

/** A value with none inside it, whose first byte is `byte`. */
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

/** Any value, as plain JavaScript: see `plain`. */
export function readPlain(r: Reader, p: number, depth: number = MAX_DEPTH): unknown {
  const byte = p < r.end ? (r.bytes[p] as number) : misfit();
  if (isMap(byte)) return readPlainMap(r, p, depth - 1);
  if (isArray(byte)) return readArray(r, p, depth - 1, readPlain);
  return byte === 0xcf || byte === 0xd3 ? safeNumber(readBigInt(r, p)) : readScalar(r, p, byte);
}

function readPlainMap(r: Reader, p: number, depth: number): object {
  if (depth < 0) throw tooDeep();
  let object: object = {};
  for (let left = readMapHeader(r, p); left > 0; left--) {
    const key = readPlain(r, r.position, depth);
    object = withEntry(object, key, readPlain(r, r.position, depth));
  }
  return object;
}

function readArray(r: Reader, p: number, depth: number, read: typeof readValue): unknown[] {
  if (depth < 0) throw tooDeep();
  const array: unknown[] = [];
  for (let left = readArrayHeader(r, p); left > 0; left--) array.push(read(r, r.position, depth));
  return array;
}

function readMap(r: Reader, p: number, depth: number): WireMap {
  if (depth < 0) throw tooDeep();
  const entries: [unknown, unknown][] = [];
  for (let left = readMapHeader(r, p); left > 0; left--) {
    const key = readValue(r, r.position, depth);
    entries.push([key, readValue(r, r.position, depth)]);
  }
  return new WireMap(entries);
}
