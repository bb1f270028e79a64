// Writers of MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md). Each takes the buffer, the position to write at and the
// value, and returns the position after it. Nothing is written beyond the buffer: a position past its end says how much
// room is needed, and the caller writes again. A value of another type is a misfit.
import { misfit } from "./misfit.js";
import { writeUtf8 } from "./text.js";

/** Strings of fewer characters are written by a loop: calling the platform costs more. */
const SHORT_TEXT = 24;

let viewed: Uint8Array | undefined;
let view: DataView = new DataView(new ArrayBuffer(0));

/** A view of all of `b`, kept for the next call. */
function viewOf(b: Uint8Array): DataView {
  if (b !== viewed) {
    view = new DataView(b.buffer, b.byteOffset, b.byteLength);
    viewed = b;
  }
  return view;
}

export function writeNil(b: Uint8Array, p: number): number {
  b[p] = 0xc0;
  return p + 1;
}

/** `undefined` where something must be: extension 0, as msgpackr and notepack write it. */
export function writeUndefined(b: Uint8Array, p: number): number {
  b[p] = 0xd4;
  b[p + 1] = 0;
  b[p + 2] = 0;
  return p + 3;
}

export function writeBoolean(b: Uint8Array, p: number, value: unknown): number {
  b[p] = value === true ? 0xc3 : value === false ? 0xc2 : misfit();
  return p + 1;
}

/** A finite number. */
export function writeNumber(b: Uint8Array, p: number, value: unknown): number {
  if (typeof value !== "number" || value - value !== 0) misfit();
  return writeAnyNumber(b, p, value);
}

/** A safe integer. */
export function writeInt(b: Uint8Array, p: number, value: unknown): number {
  if (!Number.isSafeInteger(value)) misfit();
  return writeAnyNumber(b, p, value as number);
}

/** Integers of 32 bits as short as can be, all else as a double: as msgpackr does. */
export function writeAnyNumber(b: Uint8Array, p: number, value: number): number {
  if (value >>> 0 === value) {
    if (value < 0x80) {
      b[p] = value;
      return p + 1;
    }
    if (value < 0x100) {
      b[p] = 0xcc;
      b[p + 1] = value;
      return p + 2;
    }
    return writeCount(b, p, value, 0xcd);
  }
  if (value >> 0 === value) {
    if (value >= -0x20) {
      b[p] = value;
      return p + 1;
    }
    if (value >= -0x80) {
      b[p] = 0xd0;
      b[p + 1] = value;
      return p + 2;
    }
    if (value >= -0x8000) {
      b[p] = 0xd1;
      b[p + 1] = value >> 8;
      b[p + 2] = value;
      return p + 3;
    }
    b[p] = 0xd2;
    return writeUint32(b, p + 1, value);
  }
  b[p] = 0xcb;
  if (p + 9 <= b.length) viewOf(b).setFloat64(p + 1, value);
  return p + 9;
}

/** A number in 2 bytes after `first`, or in 4 after the next one. */
function writeCount(b: Uint8Array, p: number, count: number, first: number): number {
  if (count < 0x10000) {
    b[p] = first;
    b[p + 1] = count >> 8;
    b[p + 2] = count;
    return p + 3;
  }
  b[p] = first + 1;
  return writeUint32(b, p + 1, count);
}

function writeUint32(b: Uint8Array, p: number, value: number): number {
  b[p] = value >>> 24;
  b[p + 1] = value >> 16;
  b[p + 2] = value >> 8;
  b[p + 3] = value;
  return p + 4;
}

/** Always nine bytes, so that a receiver tells it from a number. */
export function writeBigInt(b: Uint8Array, p: number, value: unknown): number {
  if (typeof value !== "bigint") misfit();
  const signed = BigInt.asIntN(64, value) === value;
  if (!signed && BigInt.asUintN(64, value) !== value) throw new RangeError("a bigint has more than 64 bits");
  b[p] = signed ? 0xd3 : 0xcf;
  if (p + 9 <= b.length) viewOf(b).setBigUint64(p + 1, BigInt.asUintN(64, value));
  return p + 9;
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
  const most = p + guess + 2 + value.length * 3;
  if (most > b.length) return most;
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

export function writeBytes(b: Uint8Array, p: number, value: unknown): number {
  if (!(value instanceof Uint8Array)) misfit();
  const { length } = value;
  const most = p + 5 + length;
  if (most > b.length) return most;
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

/** The timestamp extension, in the shortest of its three forms, to the millisecond. */
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
