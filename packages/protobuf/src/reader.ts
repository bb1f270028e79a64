import { count, MAX_DEPTH, misfit } from "@quicrpc/core/codec";
import { readUtf8, BYTES_VALUES, copyBytes } from "@quicrpc/core/internal";

/**
 * The input of the protobuf read functions: bytes and a position. Each read function takes the reader and the end of
 * the part that it may read, and moves the position.
 */
export class Reader {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  position = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}

/** Reads a value that ends at position `end`. */
export type ReadMessage<T = unknown> = (r: Reader, end: number, depth: number) => T;
/** Reads a value that states its own length, and must not extend beyond position `end`. */
export type ReadScalar<T = unknown> = (r: Reader, end: number) => T;

/** Reads the message in `bytes[start, end)`. Throws the mismatch error if it is malformed. */
export function readWhole<T>(bytes: Uint8Array, start: number, end: number, read: ReadMessage<T>): T {
  return read(new Reader(bytes.subarray(start, end)), end - start, MAX_DEPTH);
}

/** Upper 32 bits of the varint that was read last. */
let high = 0;

/** Reads a varint, returns its lower 32 bits as a signed number, and stores the others in `high`. */
function varint(r: Reader, end: number): number {
  const { bytes } = r;
  let p = r.position;
  let low = 0;
  high = 0;
  for (let shift = 0; shift < 70; shift += 7) {
    if (p >= end) misfit();
    const byte = bytes[p++] as number;
    const bits = byte & 127;
    if (shift <= 28) low |= bits << shift;
    if (shift === 28) high = bits >> 4;
    else if (shift > 28) high |= bits << (shift - 32);
    if (byte < 128) {
      // 64 bits are nine groups of seven bits, and one bit.
      if (shift === 63 && byte > 1) misfit();
      r.position = p;
      return low;
    }
  }
  return misfit();
}

/** Reads the tag of a field: its field number times 8, plus the wire type (how the value is encoded). */
export function readTag(r: Reader, end: number): number {
  const tag = varint(r, end) >>> 0;
  return high === 0 && tag >= 8 ? tag : misfit();
}

/** Reads the length of a value, and returns the position after that value. */
function readEnd(r: Reader, end: number): number {
  const length = varint(r, end) >>> 0;
  if (high !== 0 || length > end - r.position) misfit();
  return r.position + length;
}

export function readInt32(r: Reader, end: number): number {
  return varint(r, end);
}

export function readUint32(r: Reader, end: number): number {
  return varint(r, end) >>> 0;
}

/** Reads an `int64` as a number if that is exact, otherwise as a bigint. */
export function readInt(r: Reader, end: number): number | bigint {
  const low = varint(r, end) >>> 0;
  const number = high * 0x1_0000_0000 + low;
  return Number.isSafeInteger(number) ? number : int64(low);
}

export function readInt64(r: Reader, end: number): bigint {
  return int64(varint(r, end) >>> 0);
}

function int64(low: number): bigint {
  return (BigInt(high) << 32n) | BigInt(low);
}

export function readUint64(r: Reader, end: number): bigint {
  const low = varint(r, end) >>> 0;
  return (BigInt(high >>> 0) << 32n) | BigInt(low);
}

export function readBool(r: Reader, end: number): boolean {
  return (varint(r, end) | high) !== 0;
}

export function readNull(r: Reader, end: number): null {
  varint(r, end);
  return null;
}

export function readDouble(r: Reader, end: number): number {
  return r.view.getFloat64(advance(r, end, 8), true);
}

export function readFloat(r: Reader, end: number): number {
  return r.view.getFloat32(advance(r, end, 4), true);
}

export function readSint32(r: Reader, end: number): number {
  const bits = varint(r, end);
  return (bits >>> 1) ^ -(bits & 1);
}

export function readSint64(r: Reader, end: number): bigint {
  const bits = readUint64(r, end);
  return (bits >> 1n) ^ -(bits & 1n);
}

export function readFixed32(r: Reader, end: number): number {
  return r.view.getUint32(advance(r, end, 4), true);
}

export function readSfixed32(r: Reader, end: number): number {
  return r.view.getInt32(advance(r, end, 4), true);
}

export function readFixed64(r: Reader, end: number): bigint {
  return r.view.getBigUint64(advance(r, end, 8), true);
}

export function readSfixed64(r: Reader, end: number): bigint {
  return r.view.getBigInt64(advance(r, end, 8), true);
}

/** Moves the reader by `length` bytes, and returns its earlier position. */
function advance(r: Reader, end: number, length: number): number {
  const p = r.position;
  if (length > end - p) misfit();
  r.position = p + length;
  return p;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function readString(r: Reader, end: number): string {
  const stop = readEnd(r, end);
  const text = readUtf8(r.bytes, r.position, stop);
  // U+FFFD is either the replacement of invalid UTF-8 or part of the text.
  if (text.includes("\ufffd")) {
    try {
      strict.decode(r.bytes.subarray(r.position, stop));
    } catch {
      misfit();
    }
  }
  r.position = stop;
  return text;
}

export function readBytes(r: Reader, end: number): Uint8Array {
  count(BYTES_VALUES);
  const stop = readEnd(r, end);
  const bytes = copyBytes(r.bytes, r.position, stop);
  r.position = stop;
  return bytes;
}

/** Reads a nested message with its length. */
export function readMessage<T>(r: Reader, end: number, read: ReadMessage<T>, depth: number): T {
  if (depth <= 0) misfit();
  return read(r, readEnd(r, end), depth - 1);
}

/**
 * Positions of the parts of a message, as start, end, start, end and so on: a sender may send a nested message in
 * several parts.
 */
export type Parts = number[] | undefined;

/** Skips a part of a nested message, which `readParts` reads later, and adds its positions to those in `before`. */
export function takePart(r: Reader, end: number, before: Parts): Parts {
  const stop = readEnd(r, end);
  const parts = before ?? [];
  count(2);
  parts.push(r.position, stop);
  r.position = stop;
  return parts;
}

/** Reads the message whose parts `takePart` has collected; returns undefined if there are none. */
export function readParts<T>(r: Reader, parts: Parts, read: ReadMessage<T>, depth: number): T | undefined {
  if (parts === undefined) return undefined;
  if (depth <= 0) misfit();
  const [start = 0, end = 0] = parts;
  if (parts.length > 2) return readMerged(r, parts, read, depth);
  const { position } = r;
  r.position = start;
  const value = read(r, end, depth - 1);
  r.position = position;
  return value;
}

/** Reads a message that was sent in several parts: protobuf merges them as if their bytes were consecutive. */
function readMerged<T>(r: Reader, parts: readonly number[], read: ReadMessage<T>, depth: number): T {
  let length = 0;
  for (let i = 0; i < parts.length; i += 2) length += (parts[i + 1] as number) - (parts[i] as number);
  // The copied bytes count as the number of values that take as much memory.
  count(length / 32);
  const bytes = new Uint8Array(length);
  let at = 0;
  for (let i = 0; i < parts.length; i += 2) {
    const part = r.bytes.subarray(parts[i], parts[i + 1]);
    bytes.set(part, at);
    at += part.length;
  }
  return read(new Reader(bytes), length, depth - 1);
}

/** Reads a packed list of numbers, and appends them to `list`. */
export function readPacked<T>(r: Reader, end: number, read: ReadScalar<T>, list: T[]): void {
  const stop = readEnd(r, end);
  while (r.position < stop) push(list, read(r, stop));
}

export function push<T>(list: T[], value: T): void {
  count(1);
  list.push(value);
}

/** Counts an object with this number of fields toward the decode limit. */
export function countFields(fields: number): void {
  count((fields + 4) / 4);
}

/** Skips the value of an unknown field. */
export function skipField(r: Reader, tag: number, end: number, depth: number): void {
  switch (tag & 7) {
    case 0:
      varint(r, end);
      return;
    case 1:
      advance(r, end, 8);
      return;
    case 2:
      r.position = readEnd(r, end);
      return;
    case 3:
      skipGroup(r, tag, end, depth - 1);
      return;
    case 5:
      advance(r, end, 4);
      return;
    default:
      misfit();
  }
}

function skipGroup(r: Reader, start: number, end: number, depth: number): void {
  if (depth < 0) misfit();
  for (;;) {
    const tag = readTag(r, end);
    // The tag at the end of the group has the same field number.
    if (tag === start + 1) return;
    skipField(r, tag, end, depth);
  }
}
