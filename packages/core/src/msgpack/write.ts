// Writers of MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md). Each takes a buffer, a position and
// a value, and returns the position after the value. Nothing is written beyond the buffer: if the returned position is
// past its end, the caller provides a longer buffer and writes again. Writers throw the mismatch error for a value of
// another type.
import { misfit } from "./misfit.js";
import { writeUtf8 } from "./text.js";

/** Strings with fewer characters are written by a loop, because a call into the platform takes longer. */
const SHORT_TEXT = 24;

/**
 * Writes `count` in 2 bytes after the byte `first`, or in 4 bytes after the byte `first + 1`. Returns the position
 * after it.
 */
export function writeCount(b: Uint8Array, p: number, count: number, first: number): number {
  if (count < 0x10000) {
    b[p] = first;
    b[p + 1] = count >> 8;
    b[p + 2] = count;
    return p + 3;
  }
  b[p] = first + 1;
  return writeUint32(b, p + 1, count);
}

/** Writes a number in 4 bytes, big-endian. */
export function writeUint32(b: Uint8Array, p: number, value: number): number {
  b[p] = value >>> 24;
  b[p + 1] = value >> 16;
  b[p + 2] = value >> 8;
  b[p + 3] = value;
  return p + 4;
}

export function writeString(b: Uint8Array, p: number, value: unknown): number {
  if (typeof value !== "string") misfit();
  const { length } = value;
  if (length >= SHORT_TEXT) return writeLongString(b, p, value);
  let q = p + 1;
  for (let i = 0; i < length; i++) {
    const unit = value.charCodeAt(i);
    if (unit > 127) return writeLongString(b, p, value);
    b[q++] = unit;
  }
  b[p] = 0xa0 | length;
  return q;
}

function writeLongString(b: Uint8Array, p: number, value: string): number {
  const guess = stringHeaderSize(value.length);
  const maxEnd = p + guess + 2 + value.length * 3;
  if (maxEnd > b.length) return maxEnd;
  const length = writeUtf8(b, p + guess, value);
  const size = stringHeaderSize(length);
  if (size !== guess) b.copyWithin(p + size, p + guess, p + guess + length);
  if (size === 1) {
    b[p] = 0xa0 | length;
  } else if (size === 2) {
    b[p] = 0xd9;
    b[p + 1] = length;
  } else {
    writeCount(b, p, length, 0xda);
  }
  return p + size + length;
}

function stringHeaderSize(length: number): 1 | 2 | 3 | 5 {
  return length < 32 ? 1 : length < 0x100 ? 2 : length < 0x10000 ? 3 : 5;
}

export function writeArrayHeader(b: Uint8Array, p: number, length: number): number {
  return writeHeader(b, p, length, 0x90, 0xdc);
}

export function writeMapHeader(b: Uint8Array, p: number, size: number): number {
  return writeHeader(b, p, size, 0x80, 0xde);
}

function writeHeader(b: Uint8Array, p: number, count: number, short: number, long: number): number {
  if (count < 0x10) {
    b[p] = short | count;
    return p + 1;
  }
  return writeCount(b, p, count, long);
}
