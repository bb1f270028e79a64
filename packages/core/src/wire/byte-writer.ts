import { writeVarint } from "./varint.js";

/** Appends to one growing buffer. */
export class ByteWriter {
  buffer: Uint8Array;
  position = 0;

  constructor(buffer: Uint8Array = new Uint8Array(256)) {
    this.buffer = buffer;
  }

  /** Makes room for `length` more bytes. */
  reserve(length: number): void {
    const needed = this.position + length;
    if (needed <= this.buffer.length) return;
    const larger = new Uint8Array(Math.max(needed, this.buffer.length * 2));
    larger.set(this.written());
    this.buffer = larger;
  }

  byte(value: number): void {
    this.reserve(1);
    this.buffer[this.position++] = value;
  }

  varint(value: number): void {
    this.reserve(8);
    this.position = writeVarint(this.buffer, this.position, value);
  }

  bytes(source: Uint8Array): void {
    this.reserve(source.length);
    this.buffer.set(source, this.position);
    this.position += source.length;
  }

  /** What has been written, valid until the next write. */
  written(): Uint8Array {
    return this.buffer.subarray(0, this.position);
  }
}
