import { MAX_DEPTH, MAX_MISMATCHES } from "../fixed-limits.js";
import { misfit } from "./misfit.js";
import { readUtf8 } from "./text.js";

/** Bytes of a number, by its first byte, from 0xca on. */
export const NUMBER_SIZES: readonly number[] = [5, 9, 2, 3, 5, 9, 2, 3, 5, 9];

/**
 * Reads one payload. Read functions take the reader and a position, return the value, and leave the position after it
 * in `position`. They may read beyond `end`, into bytes of other payloads: the outermost caller compares `position`
 * with `end`, and `within` does so before application code sees a value. Anything unexpected is a misfit.
 */
export class Reader {
  #chunk: Uint8Array | undefined;
  #offset = 0;
  #buffer: ArrayBufferLike | undefined;
  /** All bytes of the buffer that contains the payload; positions are relative to it. Set, like `view`, when reading starts. */
  bytes!: Uint8Array;
  view!: DataView;
  position = 0;
  end = 0;
  /** Entries that are left of a map whose key was looked for. */
  left = 0;

  /** Sets out to read `bytes[start, end)`, and returns its position. */
  begin(bytes: Uint8Array, start: number, end: number): number {
    // Payloads come many to a chunk, and chunks many to a buffer: to ask a chunk for its buffer costs as much as a small payload, a view
    // three times that.
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

/** Returns the value just read. Throws the mismatch error if it extends beyond the payload. */
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

/** Reads a length of 1, 2 or 4 bytes (`form` 0, 1 or 2) after the first byte. Another form is a misfit. */
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
  /** Number of values that may still be read: see `count`. Infinity if no message is being decoded. */
  values: number;
  /** Number of values so far that did not match an option of a union. */
  mismatches: number;
  /** What the message has too many of; empty unless `exceed` was called. */
  excess: string;
}

export const allowance: Allowance = { values: Number.POSITIVE_INFINITY, mismatches: 0, excess: "" };

/** Values that bytes are charged in addition to themselves: their objects take more memory than other small values. */
export const BYTES_VALUES = 5;

/**
 * Values that a Map or Set is charged in addition to its entries: its table takes more memory than an array or an
 * object.
 */
const TABLE_VALUES = 4;
/** Values that each entry of a Map or Set is charged in addition, for its place in the table and the time to find it. */
const ENTRY_VALUES = 2;

/** Returns the values that the table of a Map or Set of `size` entries is charged. */
export function tableValues(size: number): number {
  return TABLE_VALUES + size * ENTRY_VALUES;
}

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

/** The same for a Set. */
export function readSetHeader(r: Reader, p: number): number {
  return countedTable(readArrayHeader(r, p));
}

/** The same for a Map. */
export function readTableHeader(r: Reader, p: number): number {
  return countedTable(readMapHeader(r, p));
}

function countedTable(size: number): number {
  count(tableValues(size));
  return size;
}

/**
 * Reads the header of an object of `expected` fields, which is charged at half price if there are no other fields: its
 * bytes and, as a rule, its place in an array are charged as well.
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

/** Charges half of an object's memory: a header of four words and one word for each field; a value is four words. */
function countFields(fields: number): void {
  count((fields + 4) / 8);
}

/** Charges a container and its contents, `each` values for each element. */
function counted(length: number, each: number): number {
  count(length * each + 1);
  return length;
}

/** Charges values that are about to be read. Throws a misfit if the allowance is exceeded. */
export function count(values: number): void {
  if ((allowance.values -= values) < 0) misfit();
}

/** Counts a value that does not match an option of a union, if a message is being decoded. */
export function countMismatch(): void {
  if (allowance.values === Number.POSITIVE_INFINITY) return;
  if (++allowance.mismatches > MAX_MISMATCHES) exceed(`${MAX_MISMATCHES} mismatches of union options`);
}

/** Stops every reader of the message, which is refused because it has more than `what`. */
export function exceed(what: string): never {
  allowance.excess = what;
  allowance.values = -1;
  misfit();
}

function readLongHeader(r: Reader, p: number, form: number): number {
  const count = readLength(r, p, form < 0 ? form : form + 1);
  return count <= r.end - r.position ? count : misfit();
}

/** Levels that are passed over without counting those around them, which in a schema without recursion are few. */
const MAX_SKIPPED = MAX_DEPTH / 2;

/** Skips the value at `p`. Throws the mismatch error if it is nested deeper than `depth` levels. */
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

/** Returns the size in bytes of the scalar at `p`, whose first byte is `byte`. */
function scalarSize(r: Reader, p: number, byte: number): number {
  if (byte < 0x80 || byte >= 0xe0) return 1;
  if (byte < 0xc0) return 1 + (byte & 31);
  if (byte < 0xc4) return 1;
  if (byte >= 0xca && byte < 0xd9) return NUMBER_SIZES[byte - 0xca] ?? 2 + (1 << (byte - 0xd4));
  // Bytes (0xc4), extensions (0xc7, with a byte for their type) and text (0xd9).
  const length = readLength(r, p, (byte - (byte < 0xd9 ? 0xc4 : 0xd9)) % 3);
  return r.position - p + length + (byte >= 0xc7 && byte < 0xca ? 1 : 0);
}

/** Whether a map begins with this byte. */
export function isMap(byte: number): boolean {
  return (byte & 0xf0) === 0x80 || byte === 0xde || byte === 0xdf;
}

export function isArray(byte: number): boolean {
  return (byte & 0xf0) === 0x90 || byte === 0xdc || byte === 0xdd;
}

/** Reads the single value in `bytes[start, end)` with `read`. Throws a misfit if the value ends elsewhere. */
export function readWhole<T>(bytes: Uint8Array, start: number, end: number, read: (r: Reader, p: number) => T): T {
  const r = idle ?? new Reader();
  // Reading may run code of the application's, which may read another message.
  idle = undefined;
  try {
    const value = read(r, r.begin(bytes, start, end));
    return r.position === r.end ? value : misfit();
  } finally {
    idle = r;
  }
}

let idle: Reader | undefined;
