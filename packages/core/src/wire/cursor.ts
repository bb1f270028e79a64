import { ProtocolError } from "../errors.js";
import { readUtf8 } from "../msgpack/text.js";
import type { Frame } from "./frame.js";

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

/** Reads the fields of a frame's body in order. Its methods throw `ProtocolError` if the frame ends too early. */
export class Cursor {
  readonly bytes: Uint8Array;
  position: number;
  readonly end: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
  }

  byte(): number {
    return this.bytes[this.take(1)] as number;
  }

  varint(): number {
    if (this.position >= this.end) throw tooShort();
    return readVarint(this.bytes, this.take(varintLengthFromFirstByte(this.bytes[this.position] as number)));
  }

  /** Skips `length` bytes and returns the position of the first of them. */
  take(length: number): number {
    const start = this.position;
    if (length > this.end - start) throw tooShort();
    this.position = start + length;
    return start;
  }

  /** Skips a value that is preceded by its length (varint), and returns a cursor over that value. */
  nested(): Cursor {
    const length = this.varint();
    const start = this.take(length);
    return new Cursor(this.bytes, start, start + length);
  }

  text(): string {
    return readUtf8(this.bytes, this.position, this.end);
  }

  rest(): Uint8Array {
    return this.bytes.slice(this.position, this.end);
  }
}

/** Returns a cursor over the body of a frame. */
export function cursorOf({ bytes, start, end }: Pick<Frame, "bytes" | "start" | "end">): Cursor {
  return new Cursor(bytes, start, end);
}

function tooShort(): ProtocolError {
  return new ProtocolError("a frame ends before its fields do");
}
