import { misfit } from "./misfit.js";
import { NUMBER_SIZES, type Reader } from "./reader.js";
import { writeCount, writeUint32 } from "./write.js";

/** Reads a safe integer, in any of MessagePack's number formats. */
export function readInt(r: Reader, p: number): number {
  const byte = r.bytes[p] as number;
  if (byte < 0x80) {
    r.position = p + 1;
    return byte;
  }
  const value = readAnyNumber(r, p);
  return Number.isSafeInteger(value) ? value : misfit();
}

/** Reads a finite number, in any of MessagePack's number formats. */
export function readNumber(r: Reader, p: number): number {
  if (r.bytes[p] === 0xcb) {
    const value = r.view.getFloat64(p + 1);
    r.position = p + 9;
    return value - value === 0 ? value : misfit();
  }
  const value = readAnyNumber(r, p);
  return value - value === 0 ? value : misfit();
}

/**
 * Reads a number, including infinities and NaN. Throws the mismatch error for a 64-bit integer that is not a safe
 * integer.
 */
export function readAnyNumber(r: Reader, p: number): number {
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

let viewed: Uint8Array | undefined;

let view: DataView = new DataView(new ArrayBuffer(0));

/** Returns a `DataView` of all bytes of `b`. The view is cached for the next call. */
export function viewOf(b: Uint8Array): DataView {
  if (b !== viewed) {
    view = new DataView(b.buffer, b.byteOffset, b.byteLength);
    viewed = b;
  }
  return view;
}

/** Writes a finite number. */
export function writeNumber(b: Uint8Array, p: number, value: unknown): number {
  if (typeof value !== "number" || value - value !== 0) misfit();
  return writeAnyNumber(b, p, value);
}

/** Writes a safe integer. */
export function writeInt(b: Uint8Array, p: number, value: unknown): number {
  if (!Number.isSafeInteger(value)) misfit();
  return writeAnyNumber(b, p, value as number);
}

/** Writes 32-bit integers in their shortest format and all other numbers as a double, as msgpackr does. */
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
