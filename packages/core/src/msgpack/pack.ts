import { writeValue } from "./write-value.js";
import { readPlain, readValue } from "./read-value.js";
import { readWhole } from "./reader.js";

/** A growing buffer that payloads are written to. */
interface Output {
  buffer: Uint8Array;
  position: number;
  reserve(length: number): void;
}

const FIRST_ROOM = 256;

/** Appends any value as MessagePack. Throws `TypeError` if it cannot be encoded. */
export function appendValue(value: unknown, out: Output): void {
  out.reserve(FIRST_ROOM);
  let end = writeValue(out.buffer, out.position, value);
  if (end > out.buffer.length) {
    out.reserve(end - out.position);
    end = writeValue(out.buffer, out.position, value);
  }
  out.position = end;
}

/** Returns `value` as MessagePack, in a buffer of its own. */
export function pack(value: unknown): Uint8Array {
  let buffer = new Uint8Array(FIRST_ROOM);
  let end = writeValue(buffer, 0, value);
  if (end > buffer.length) {
    buffer = new Uint8Array(end);
    end = writeValue(buffer, 0, value);
  }
  return buffer.subarray(0, end);
}

/**
 * Decodes the single value in `bytes[start, end)`. Maps become objects; 64-bit integers become numbers if the
 * conversion is exact, and bigints otherwise. Throws if the bytes are not exactly one value. Binary values are copies.
 */
export function unpack(bytes: Uint8Array, start: number, end: number): unknown {
  return readWhole(bytes, start, end, readPlain);
}

/**
 * Decodes the single value in `bytes[start, end)` without losing information: maps become `WireMap`, and 64-bit
 * integers bigints.
 */
export function unpackExactly(bytes: Uint8Array, start: number, end: number): unknown {
  return readWhole(bytes, start, end, readValue);
}
