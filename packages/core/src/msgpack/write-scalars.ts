import { viewOf } from "./number.js";
import { misfit } from "./misfit.js";
import { writeCount, writeUint32 } from "./write.js";

export function writeNil(b: Uint8Array, p: number): number {
  b[p] = 0xc0;
  return p + 1;
}

/**
 * Writes an extension of one byte, with `mark` as both its type and its content, as msgpackr does: 0 is `undefined`,
 * and 0xff an invalid date.
 */
export function writeMark(b: Uint8Array, p: number, mark: number): number {
  b[p] = 0xd4;
  b[p + 1] = mark;
  b[p + 2] = mark;
  return p + 3;
}

export function writeBoolean(b: Uint8Array, p: number, value: unknown): number {
  b[p] = value === true ? 0xc3 : value === false ? 0xc2 : misfit();
  return p + 1;
}

/** Writes a bigint in nine bytes, even if it is small, so that a receiver distinguishes it from a number. */
export function writeBigInt(b: Uint8Array, p: number, value: unknown): number {
  if (typeof value !== "bigint") misfit();
  const signed = BigInt.asIntN(64, value) === value;
  if (!signed && BigInt.asUintN(64, value) !== value) throw new RangeError("a bigint has more than 64 bits");
  b[p] = signed ? 0xd3 : 0xcf;
  if (p + 9 <= b.length) viewOf(b).setBigUint64(p + 1, BigInt.asUintN(64, value));
  return p + 9;
}

export function writeBytes(b: Uint8Array, p: number, value: unknown): number {
  if (!(value instanceof Uint8Array)) misfit();
  const { length } = value;
  const maxEnd = p + 5 + length;
  if (maxEnd > b.length) return maxEnd;
  let q = p;
  if (length < 0x100) {
    b[p] = 0xc4;
    b[p + 1] = length;
    q += 2;
  } else {
    q = writeCount(b, p, length, 0xc5);
  }
  b.set(value, q);
  return q + length;
}

/**
 * Writes a date in the shortest of the three formats of MessagePack's timestamp extension, with millisecond precision.
 */
export function writeDate(b: Uint8Array, p: number, value: unknown): number {
  if (!(value instanceof Date)) misfit();
  const time = value.getTime();
  if (Number.isNaN(time)) misfit();
  const seconds = Math.floor(time / 1000);
  const nanoseconds = (time - seconds * 1000) * 1_000_000;
  if (p + 15 > b.length) return p + 15;
  if (seconds >= 0 && seconds < 0x100000000) {
    b[p + 1] = 0xff;
    if (nanoseconds === 0) {
      b[p] = 0xd6;
      return writeUint32(b, p + 2, seconds);
    }
    b[p] = 0xd7;
    return writeUint32(b, writeUint32(b, p + 2, nanoseconds * 4), seconds);
  }
  b[p] = 0xc7;
  b[p + 1] = 12;
  b[p + 2] = 0xff;
  const q = writeUint32(b, p + 3, nanoseconds);
  return writeUint32(b, writeUint32(b, q, Math.floor(seconds / 0x100000000)), seconds >>> 0);
}
