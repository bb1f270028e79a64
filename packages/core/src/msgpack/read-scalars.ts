import { misfit } from "./misfit.js";
import { BYTES_VALUES, count, type Reader, readLength } from "./reader.js";
import type { UnsharedBytes } from "../platform-types.js";

// Not `bytes.slice`: the slice of a Buffer shares its memory.
export let copyBytes = (bytes: Uint8Array, start: number, stop: number): UnsharedBytes =>
  Uint8Array.prototype.slice.call(bytes, start, stop);

/** Calls `onCopied` with the number of bytes whenever bytes are copied out of a payload in this thread. For tests. */
export function watchCopies(onCopied: (bytes: number) => void): void {
  const copy = copyBytes;
  copyBytes = (bytes, start, stop) => {
    onCopied(stop - start);
    return copy(bytes, start, stop);
  };
}

/**
 * Number of values that a date counts as, in addition to itself, toward a message's decode limit: its object takes more
 * memory than other small values.
 */
const DATE_VALUES = 3;

export function readNil(r: Reader, p: number): null {
  r.position = p + 1;
  return r.bytes[p] === 0xc0 ? null : misfit();
}

export function readBoolean(r: Reader, p: number): boolean {
  const byte = r.bytes[p];
  r.position = p + 1;
  return byte === 0xc3 ? true : byte === 0xc2 ? false : misfit();
}

/** Reads a 64-bit integer, which is how senders write a bigint. */
export function readBigInt(r: Reader, p: number): bigint {
  const byte = r.bytes[p];
  r.position = p + 9;
  if (byte === 0xd3) return r.view.getBigInt64(p + 1);
  return byte === 0xcf ? r.view.getBigUint64(p + 1) : misfit();
}

/** Reads binary data and returns a copy of it. */
export function readBytes(r: Reader, p: number): Uint8Array {
  const length = readLength(r, p, (r.bytes[p] as number) - 0xc4);
  const start = r.position;
  const stop = start + length;
  if (stop > r.end) misfit();
  r.position = stop;
  count(BYTES_VALUES);
  return copyBytes(r.bytes, start, stop);
}

/** Reads a valid date, in any of the three formats of MessagePack's timestamp extension. */
export function readDate(r: Reader, p: number): Date {
  const { bytes, view } = r;
  const form = bytes[p];
  const long = form === 0xc7;
  // A timestamp has twelve bytes after 0xc7 and its length, eight after 0xd7, or four after 0xd6.
  const start = p + (long ? 3 : 2);
  const end = start + (long ? 12 : form === 0xd7 ? 8 : 4);
  if ((long ? bytes[p + 1] !== 12 : form !== 0xd7 && form !== 0xd6) || bytes[start - 1] !== 0xff) misfit();
  r.position = end;
  let seconds = view.getUint32(end - 4);
  let nanoseconds = 0;
  if (long) {
    nanoseconds = view.getUint32(start);
    seconds += view.getInt32(start + 4) * 0x100000000;
  } else if (form === 0xd7) {
    const high = view.getUint32(start);
    nanoseconds = high >>> 2;
    seconds += (high & 3) * 0x100000000;
  }
  if (nanoseconds > 999_999_999) misfit();
  const date = dateOf(seconds * 1000 + nanoseconds / 1_000_000);
  return Number.isNaN(date.getTime()) ? misfit() : date;
}

/** Returns the date of a time in milliseconds since the Unix epoch, and counts it toward the decode limit. */
export function dateOf(milliseconds: number): Date {
  count(DATE_VALUES);
  return new Date(milliseconds);
}

/**
 * Returns the number of data bytes of the extension at `p`, whose first byte is `byte`, and moves the reader to the
 * extension's type.
 */
export function readExtensionLength(r: Reader, p: number, byte: number): number {
  if (byte < 0xd4) return readLength(r, p, byte - 0xc7);
  r.position = p + 1;
  return 1 << (byte - 0xd4);
}
