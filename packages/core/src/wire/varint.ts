import { ProtocolError } from "../errors.js";

/**
 * Variable-length integers as in QUIC (RFC 9000 §16): the two highest bits of the first byte state the length, which is
 * 1, 2, 4 or 8 bytes, big-endian. An encoding may be longer than necessary. Values are at most 2^53-1.
 */

/** Largest value that fits into 2 bytes. */
export const VARINT2_MAX = 0x3fff;
/** Largest value that fits into 4 bytes. */
const VARINT4_MAX = 0x3fff_ffff;

/** Returns the minimum number of bytes that `value` takes. */
export function varintLength(value: number): number {
  if (value <= 0x3f) return 1;
  if (value <= VARINT2_MAX) return 2;
  return value <= VARINT4_MAX ? 4 : 8;
}

/** Writes `value` in as few bytes as possible and returns the position after it. The buffer must have room. */
export function writeVarint(bytes: Uint8Array, position: number, value: number): number {
  if (value <= 0x3f) {
    bytes[position] = value;
    return position + 1;
  }
  if (value <= VARINT2_MAX) return writeVarint2(bytes, position, value);
  if (value <= VARINT4_MAX) return writeVarint4(bytes, position, value);
  return fill(bytes, position, value, 8, 0xc0);
}

/** Writes `value` in `size` bytes, big-endian, with the length bits `mark` in the first byte. */
function fill(bytes: Uint8Array, position: number, value: number, size: number, mark: number): number {
  let rest = value;
  for (let at = position + size - 1; at >= position; at--) {
    bytes[at] = rest;
    rest = Math.floor(rest / 256);
  }
  (bytes[position] as number) |= mark;
  return position + size;
}

/** Writes `value`, at most 2^14-1, in two bytes. */
export function writeVarint2(bytes: Uint8Array, position: number, value: number): number {
  bytes[position] = 0x40 | (value >>> 8);
  bytes[position + 1] = value;
  return position + 2;
}

/** Writes `value`, at most 2^30-1, in four bytes. */
export function writeVarint4(bytes: Uint8Array, position: number, value: number): number {
  return fill(bytes, position, value, 4, 0x80);
}

/** Returns the length in bytes of the integer whose first byte is `first`. */
export function varintLengthFromFirstByte(first: number): number {
  return 1 << (first >>> 6);
}

/**
 * Reads the integer at `position`. All of its bytes must be present; `varintLengthFromFirstByte` returns their number.
 */
export function readVarint(bytes: Uint8Array, position: number): number {
  const first = bytes[position] as number;
  if (first < 0x40) return first;
  let value = ((first & 0x3f) << 8) | (bytes[position + 1] as number);
  const end = position + varintLengthFromFirstByte(first);
  for (let at = position + 2; at < end; at++) value = value * 256 + (bytes[at] as number);
  if (value > Number.MAX_SAFE_INTEGER) throw new ProtocolError("an integer is beyond 2^53-1");
  return value;
}
