import { MAX_DEPTH } from "../fixed-limits.js";
import { misfit } from "./misfit.js";
import { readUtf8 } from "./text.js";

/** Size in bytes of a MessagePack number, including its first byte; the index is the first byte minus 0xca. */
export const NUMBER_SIZES: readonly number[] = [5, 9, 2, 3, 5, 9, 2, 3, 5, 9];

/**
 * The input of the MessagePack read functions: one payload. Each read function takes the reader and a position, returns
 * the value, and sets `position` to the position after it. It may read beyond `end`, into bytes of other payloads: the
 * outermost caller compares `position` with `end`, and `within` does so before application code receives a value. Read
 * functions throw the mismatch error for unexpected bytes.
 */
export class Reader {
  #chunk: Uint8Array | undefined;
  #offset = 0;
  #buffer: ArrayBufferLike | undefined;
  /**
   * All bytes of the buffer that contains the payload; positions are relative to this buffer. Set by `begin`, like
   * `view`.
   */
  bytes!: Uint8Array;
  view!: DataView;
  position = 0;
  end = 0;
  /** Number of remaining entries of the map in which `Keys.find` last searched. */
  left = 0;

  /** Prepares to read `bytes[start, end)`, and returns the start position relative to the whole buffer. */
  begin(bytes: Uint8Array, start: number, end: number): number {
    // Many payloads share a chunk, and many chunks share a buffer. Getting a chunk's buffer takes as long as reading a
    // small payload, and creating a view takes three times as long, so both are cached.
    if (bytes !== this.#chunk) {
      this.#chunk = bytes;
      this.#offset = bytes.byteOffset;
      const { buffer } = bytes;
      if (buffer !== this.#buffer) {
        this.#buffer = buffer;
        this.bytes = new Uint8Array(buffer);
        this.view = new DataView(buffer);
      }
    }
    this.end = this.#offset + end;
    this.position = this.#offset + start;
    return this.position;
  }
}

/** Returns `value`, which was just read. Throws the mismatch error if it extends beyond the payload. */
export function within<T>(r: Reader, value: T): T {
  return r.position <= r.end ? value : misfit();
}

export function readString(r: Reader, p: number): string {
  const { bytes } = r;
  const byte = bytes[p] as number;
  if (byte >> 5 === 5) return readText(r, p + 1, byte & 31);
  const length = readLength(r, p, byte - 0xd9);
  return readText(r, r.position, length);
}

/**
 * Reads a length of 1, 2 or 4 bytes (`form` 0, 1 or 2) after the first byte. Throws the mismatch error for any other
 * `form`.
 */
export function readLength(r: Reader, p: number, form: number): number {
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

/** Limits of the message that is being decoded, shared by all readers. */
interface Allowance {
  /** Number of values that may still be read; `count` reduces it. Infinity if no message is being decoded. */
  values: number;
  /** Number of steps of validation that are left: see `countSteps`. Infinity if no message is being decoded. */
  steps: number;
}

export const allowance: Allowance = { values: Number.POSITIVE_INFINITY, steps: Number.POSITIVE_INFINITY };

/**
 * Number of values that binary data counts as, in addition to itself, toward a message's decode limit: its object takes
 * more memory than other small values.
 */
export const BYTES_VALUES = 5;

/**
 * Number of values that a Map or Set counts as, in addition to its entries, toward a message's decode limit: its hash
 * table takes more memory than an array or an object.
 */
const TABLE_VALUES = 4;
/**
 * Number of values that each entry of a Map or Set counts as, in addition to its contents, toward a message's decode
 * limit: for its slot in the hash table and the time to find it.
 */
const ENTRY_VALUES = 2;

export function tableValues(size: number): number {
  return TABLE_VALUES + size * ENTRY_VALUES;
}

/**
 * Reads the header of an array and returns the number of elements, which never exceeds the number of remaining bytes.
 */
export function readArrayHeader(r: Reader, p: number): number {
  return counted(arrayLength(r, p), 1);
}

function arrayLength(r: Reader, p: number): number {
  const byte = r.bytes[p] as number;
  if (byte >> 4 !== 9) return readLongHeader(r, p, byte - 0xdc);
  r.position = p + 1;
  return byte & 15;
}

/** Reads the header of a map and returns the number of entries, which never exceeds the number of remaining bytes. */
export function readMapHeader(r: Reader, p: number): number {
  return counted(mapLength(r, p), 2);
}

/** The same, without charging them. */
export function mapLength(r: Reader, p: number): number {
  const byte = r.bytes[p] as number;
  if (byte >> 4 !== 8) return readLongHeader(r, p, byte - 0xde);
  r.position = p + 1;
  return byte & 15;
}

/** Reads the header of an array that becomes a Set, and returns the number of elements. */
export function readSetHeader(r: Reader, p: number): number {
  return countedTable(readArrayHeader(r, p));
}

/** Reads the header of a map that becomes a Map, and returns the number of entries. */
export function readTableHeader(r: Reader, p: number): number {
  return countedTable(readMapHeader(r, p));
}

function countedTable(size: number): number {
  count(tableValues(size));
  return size;
}

/**
 * Reads the header of an object with `expected` declared fields, and returns the number of entries. If the numbers are
 * equal, only half of the object's memory counts toward the decode limit, because the payload's bytes count as well.
 */
export function readFieldsHeader(r: Reader, p: number, expected: number): number {
  if (r.bytes[p] !== (0x80 | expected) || expected > 15) return readOtherHeader(r, p, expected);
  r.position = p + 1;
  countFields(expected);
  return expected;
}

function readOtherHeader(r: Reader, p: number, expected: number): number {
  const allowed = allowance.values;
  const length = readMapHeader(r, p);
  if (length === expected) {
    allowance.values = allowed;
    countFields(expected);
  }
  return length;
}

/**
 * Counts half of an object's memory toward the message's decode limit: four words plus one for each field. One value
 * stands for four words.
 */
function countFields(fields: number): void {
  count((fields + 4) / 8);
}

/** Counts a container and `size` values for each of its `length` elements toward the decode limit. Returns `length`. */
function counted(length: number, size: number): number {
  count(length * size + 1);
  return length;
}

/**
 * Counts values that are about to be read toward the message's decode limit. Throws the mismatch error if the limit is
 * exceeded.
 */
export function count(values: number): void {
  if ((allowance.values -= values) < 0) misfit();
}

/**
 * Charges work that takes longer than reading the bytes of the message: a step takes about a microsecond. Throws a
 * misfit if the allowance is exceeded.
 */
export function countSteps(steps: number): void {
  if ((allowance.steps -= steps) >= 0) return;
  // Stops every reader of the message.
  allowance.values = -1;
  misfit();
}

function readLongHeader(r: Reader, p: number, form: number): number {
  const count = readLength(r, p, form < 0 ? form : form + 1);
  return count <= r.end - r.position ? count : misfit();
}

/**
 * Maximum nesting depth of a skipped value. Half of `MAX_DEPTH`, because the levels around the value are not counted.
 */
const MAX_SKIPPED = MAX_DEPTH / 2;

/**
 * Skips the value at `p`, which is not charged. If it claims to extend beyond the payload, sets `position` just beyond
 * the end. Throws the mismatch error if it is nested deeper than `depth` levels.
 */
export function skip(r: Reader, p: number, depth: number = MAX_SKIPPED): void {
  const byte = p < r.end ? (r.bytes[p] as number) : misfit();
  if (isMap(byte)) skipItems(r, mapLength(r, p) * 2, depth - 1);
  else if (isArray(byte)) skipItems(r, arrayLength(r, p), depth - 1);
  else r.position = Math.min(p + scalarSize(r, p, byte), r.end + 1);
}

function skipItems(r: Reader, count: number, depth: number): void {
  if (depth < 0) misfit();
  for (let remaining = count; remaining > 0; remaining--) skip(r, r.position, depth);
}

function scalarSize(r: Reader, p: number, byte: number): number {
  if (byte < 0x80 || byte >= 0xe0) return 1;
  if (byte < 0xc0) return 1 + (byte & 31);
  if (byte < 0xc4) return 1;
  if (byte >= 0xca && byte < 0xd9) return NUMBER_SIZES[byte - 0xca] ?? 2 + (1 << (byte - 0xd4));
  // First bytes: 0xc4 for binary data, 0xc7 for extensions (with a byte for their type) and 0xd9 for text.
  const length = readLength(r, p, (byte - (byte < 0xd9 ? 0xc4 : 0xd9)) % 3);
  return r.position - p + length + (byte >= 0xc7 && byte < 0xca ? 1 : 0);
}

export function isMap(byte: number): boolean {
  return (byte & 0xf0) === 0x80 || byte === 0xde || byte === 0xdf;
}

export function isArray(byte: number): boolean {
  return (byte & 0xf0) === 0x90 || byte === 0xdc || byte === 0xdd;
}

/**
 * Reads the single value in `bytes[start, end)` with `read`. Throws the mismatch error if the value does not end at
 * `end`.
 */
export function readWhole<T>(bytes: Uint8Array, start: number, end: number, read: (r: Reader, p: number) => T): T {
  const r = idle ?? new Reader();
  // `read` may run application code, which may decode another message and so needs another reader.
  idle = undefined;
  try {
    const value = read(r, r.begin(bytes, start, end));
    return r.position === r.end ? value : misfit();
  } finally {
    idle = r;
  }
}

let idle: Reader | undefined;
