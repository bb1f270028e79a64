// Each writer takes a buffer, a position and a value, and returns the position after the value. Nothing is written
// beyond the buffer: if the returned position is past its end, the caller provides a longer buffer and writes again.
// Writers throw the mismatch error for a value of another type.
import { isPlainObject, sentBytes, writeUtf8 } from "@quicrpc/core/internal";
import { MAX_DEPTH, misfit } from "@quicrpc/core/codec";

export type WriteScalar = (b: Uint8Array, p: number, value: unknown) => number;
export type WriteMessage = (b: Uint8Array, p: number, value: unknown, depth: number) => number;

export const LEVELS: number = MAX_DEPTH;

/** Writes a number below 2^32 as a varint. */
function writeVarint(b: Uint8Array, p: number, value: number): number {
  let q = p;
  let rest = value;
  while (rest >= 128) {
    b[q++] = (rest & 127) | 128;
    rest >>>= 7;
  }
  b[q] = rest;
  return q + 1;
}

/** Writes a 64-bit number as a varint. `low` and `high` are its halves of 32 bits. */
function writeLong(b: Uint8Array, p: number, low: number, high: number): number {
  if (high === 0) return writeVarint(b, p, low);
  let q = p;
  let [lower, upper] = [low, high];
  while (upper !== 0 || lower >= 128) {
    b[q++] = (lower & 127) | 128;
    lower = ((lower >>> 7) | (upper << 25)) >>> 0;
    upper >>>= 7;
  }
  b[q] = lower;
  return q + 1;
}

function int32Of(value: unknown): number {
  return typeof value === "number" && (value | 0) === value ? value : misfit();
}

function uint32Of(value: unknown): number {
  return typeof value === "number" && value >>> 0 === value ? value : misfit();
}

function int64Of(value: unknown): bigint {
  return typeof value === "bigint" && BigInt.asIntN(64, value) === value ? value : misfit();
}

function uint64Of(value: unknown): bigint {
  return typeof value === "bigint" && BigInt.asUintN(64, value) === value ? value : misfit();
}

export function writeInt32(b: Uint8Array, p: number, value: unknown): number {
  const number = int32Of(value);
  return number < 0 ? writeLong(b, p, number >>> 0, 0xffff_ffff) : writeVarint(b, p, number);
}

export function writeUint32(b: Uint8Array, p: number, value: unknown): number {
  return writeVarint(b, p, uint32Of(value));
}

/** Writes a number or a bigint as an `int64`. */
export function writeInt(b: Uint8Array, p: number, value: unknown): number {
  if (typeof value === "bigint") return writeInt64(b, p, value);
  if (!Number.isSafeInteger(value)) misfit();
  const number = value as number;
  return writeLong(b, p, number >>> 0, Math.floor(number / 0x1_0000_0000) >>> 0);
}

export function writeInt64(b: Uint8Array, p: number, value: unknown): number {
  return writeBits(b, p, int64Of(value));
}

export function writeUint64(b: Uint8Array, p: number, value: unknown): number {
  return writeBits(b, p, uint64Of(value));
}

function writeBits(b: Uint8Array, p: number, value: bigint): number {
  return writeLong(b, p, Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n)));
}

export function writeBool(b: Uint8Array, p: number, value: unknown): number {
  if (typeof value !== "boolean") misfit();
  b[p] = value ? 1 : 0;
  return p + 1;
}

export function writeNull(b: Uint8Array, p: number, value: unknown): number {
  if (value !== null) misfit();
  b[p] = 0;
  return p + 1;
}

const scratch = new DataView(new ArrayBuffer(8));

function copyScratch(b: Uint8Array, p: number, size: number): number {
  for (let i = 0; i < size; i++) b[p + i] = scratch.getUint8(i);
  return p + size;
}

export function writeDouble(b: Uint8Array, p: number, value: unknown): number {
  if (typeof value !== "number") misfit();
  scratch.setFloat64(0, value, true);
  return copyScratch(b, p, 8);
}

export function writeFloat(b: Uint8Array, p: number, value: unknown): number {
  if (typeof value !== "number") misfit();
  scratch.setFloat32(0, value, true);
  return copyScratch(b, p, 4);
}

export function writeSint32(b: Uint8Array, p: number, value: unknown): number {
  const number = int32Of(value);
  return writeVarint(b, p, ((number << 1) ^ (number >> 31)) >>> 0);
}

export function writeSint64(b: Uint8Array, p: number, value: unknown): number {
  const number = int64Of(value);
  return writeBits(b, p, (number << 1n) ^ (number >> 63n));
}

export function writeFixed32(b: Uint8Array, p: number, value: unknown): number {
  scratch.setUint32(0, uint32Of(value), true);
  return copyScratch(b, p, 4);
}

export function writeSfixed32(b: Uint8Array, p: number, value: unknown): number {
  scratch.setInt32(0, int32Of(value), true);
  return copyScratch(b, p, 4);
}

export function writeFixed64(b: Uint8Array, p: number, value: unknown): number {
  scratch.setBigUint64(0, uint64Of(value), true);
  return copyScratch(b, p, 8);
}

export function writeSfixed64(b: Uint8Array, p: number, value: unknown): number {
  scratch.setBigInt64(0, int64Of(value), true);
  return copyScratch(b, p, 8);
}

export function writeString(b: Uint8Array, p: number, value: unknown): number {
  // UTF-8 cannot represent a lone surrogate.
  if (typeof value !== "string" || /\p{Surrogate}/u.test(value)) misfit();
  const most = p + 5 + value.length * 3;
  if (most > b.length) return most;
  return withLength(b, p, p + 1 + writeUtf8(b, p + 1, value));
}

export function writeBytes(b: Uint8Array, p: number, value: unknown): number {
  const bytes = typeof value === "object" && value !== null ? sentBytes(value) : undefined;
  if (bytes === undefined) misfit();
  const start = writeVarint(b, p, bytes.length);
  if (start + bytes.length <= b.length) b.set(bytes, start);
  return start + bytes.length;
}

/** Returns true for empty bytes: protobuf does not send them in a field without presence. */
export function isEmpty(value: unknown): boolean {
  return (typeof value === "object" && value !== null && sentBytes(value)?.length) === 0;
}

/**
 * Writes the length of the bytes from `p + 1` to `end` before them. Moves them if the length takes more than one byte.
 */
function withLength(b: Uint8Array, p: number, end: number): number {
  const length = end - p - 1;
  if (length < 128) {
    b[p] = length;
    return end;
  }
  const start = p + (length < 0x4000 ? 2 : length < 0x20_0000 ? 3 : length < 0x1000_0000 ? 4 : 5);
  if (end <= b.length) b.copyWithin(start, p + 1, end);
  writeVarint(b, p, length);
  return start + length;
}

/** Writes a nested message, preceded by its length. */
export function writeMessage(b: Uint8Array, p: number, value: unknown, write: WriteMessage, depth: number): number {
  if (depth <= 0) misfit();
  return withLength(b, p, write(b, p + 1, value, depth - 1));
}

/** Writes numbers as a packed list, preceded by its length. */
export function writePacked(b: Uint8Array, p: number, values: Iterable<unknown>, write: WriteScalar): number {
  let q = p + 1;
  for (const value of values) q = write(b, q, value);
  return withLength(b, p, q);
}

/** Throws the mismatch error if `value` is not an object that can have fields. */
export function requireObject(value: unknown): asserts value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) misfit();
}

/**
 * Returns `value` as an array to be written as a list. Throws the mismatch error if it is not an array or has more than
 * `most` items.
 *
 * @param most number of items of a tuple
 */
export function arrayOf(value: unknown, most: number = Number.POSITIVE_INFINITY): readonly unknown[] {
  return Array.isArray(value) && value.length <= most ? value : misfit();
}

export function setValues(value: unknown): unknown[] {
  return value instanceof Set ? [...(value as Set<unknown>)] : misfit();
}

export function mapEntries(value: unknown): [unknown, unknown][] {
  return value instanceof Map ? [...(value as Map<unknown, unknown>)] : misfit();
}

export function recordEntries(value: unknown): [string, unknown][] {
  return isPlainObject(value) ? Object.entries(value) : misfit();
}

/** Throws the mismatch error if `value` is not one of the literals in `values`. */
export function requireOne(value: unknown, ...values: readonly unknown[]): void {
  if (!values.includes(value)) misfit();
}
