import { misfit } from "./misfit.js";
import { NUMBER_SIZES, type Reader } from "./reader.js";

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

/** Reads 64-bit integers only if they are exact as a number. */
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
