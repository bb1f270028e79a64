import { ProtocolError } from "../errors.js";
import { readUtf8 } from "../msgpack/text.js";
import type { Frame } from "./frame.js";
import { readVarint, varintLengthFromFirstByte } from "./varint.js";

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

  /** Returns the remaining bytes, decoded as UTF-8. */
  text(): string {
    return readUtf8(this.bytes, this.position, this.end);
  }

  /** Returns a copy of the remaining bytes. */
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
