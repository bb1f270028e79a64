import { misfit } from "./misfit.js";
import { Reader, readPlain, readValue } from "./reader.js";
import { writeValue } from "./value.js";

/** A growing buffer, as payloads are written to. */
interface Output {
  buffer: Uint8Array;
  position: number;
  reserve(length: number): void;
}

const FIRST_ROOM = 256;

/** Appends any value as MessagePack. Throws `TypeError` for what cannot be carried. */
export function appendValue(value: unknown, out: Output): void {
  out.reserve(FIRST_ROOM);
  let end = writeValue(out.buffer, out.position, value);
  if (end > out.buffer.length) {
    out.reserve(end - out.position);
    end = writeValue(out.buffer, out.position, value);
  }
  out.position = end;
}

/** `value` as MessagePack, in a buffer of its own. */
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
 * The one value that fills `bytes[start, end)`: maps are objects, and integers of 64 bits numbers where these are exact, else
 * bigints. Throws on anything else. Binary values are copies.
 */
export function unpack(bytes: Uint8Array, start: number, end: number): unknown {
  return readWhole(bytes, start, end, readPlain);
}

/** As `unpack`, but losing nothing: see `readValue`. */
export function unpackExactly(bytes: Uint8Array, start: number, end: number): unknown {
  return readWhole(bytes, start, end, readValue);
}

/** The one value that `read` finds in all of `bytes[start, end)`; a misfit where it ends elsewhere. */
export function readWhole<T>(bytes: Uint8Array, start: number, end: number, read: (r: Reader, p: number) => T): T {
  const r = idle ?? new Reader();
  // Reading may run code of the application's, which may read another message.
  idle = undefined;
  try {
    r.begin(bytes, start, end);
    const value = read(r, start);
    return r.position === end ? value : misfit();
  } finally {
    idle = r;
  }
}

let idle: Reader | undefined;
