import { misfit } from "./misfit.js";
import { writeCount, writeUint32 } from "./write.js";

let viewed: Uint8Array | undefined;

let view: DataView = new DataView(new ArrayBuffer(0));

/** A view of all of `b`, kept for the next call. */
export function viewOf(b: Uint8Array): DataView {
  if (b !== viewed) {
    view = new DataView(b.buffer, b.byteOffset, b.byteLength);
    viewed = b;
  }
  return view;
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
