import { giveBuffer, takeBuffer } from "./buffers.js";

/** Maximum bytes of a frame before its body: type, call id (8) and, in a request, service (2) and method (8). */
const MAX_HEADER = 24;

const NOTHING = new Uint8Array(0);

/**
 * Variable-length integers as in QUIC (RFC 9000 §16): the two highest bits of the first byte state the length, which is
 * 1, 2, 4 or 8 bytes, big-endian. An encoding may be longer than necessary. Values are at most 2^53-1.
 */

const VARINT2_MAX = 0x3fff;
const VARINT4_MAX = 0x3fff_ffff;

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
function writeVarint2(bytes: Uint8Array, position: number, value: number): number {
  bytes[position] = 0x40 | (value >>> 8);
  bytes[position + 1] = value;
  return position + 2;
}

/** Writes `value`, at most 2^30-1, in four bytes. */
function writeVarint4(bytes: Uint8Array, position: number, value: number): number {
  return fill(bytes, position, value, 4, 0x80);
}

export class ByteWriter {
  buffer: Uint8Array;
  position = 0;

  constructor(buffer: Uint8Array = new Uint8Array(256)) {
    this.buffer = buffer;
  }

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

  /** Returns the written bytes. They are valid until the next write. */
  written(): Uint8Array {
    return this.buffer.subarray(0, this.position);
  }
}

/**
 * Minimum bytes of a borrowed buffer. It is small, because a broadcast to thousands of streams borrows one for each.
 */
const SMALLEST = 1024;
/** Maximum bytes of a returned buffer that is kept for borrowing. */
const MAX_SIZE = 256 * 1024;
const MAX_HELD_BYTES = 2 * 1024 * 1024;

/**
 * Spare buffers of this thread for the frames of one turn of the event loop; an idle session uses none. The buffer that
 * was returned last is borrowed first, so that a busy session gets back the buffer that it has enlarged.
 */
const held: Uint8Array[] = [];
let heldBytes = 0;
/** Number of buffers that are borrowed or held. */
let lent = 0;
/** Borrowed buffers above which frames are sent at once: a broadcast would otherwise allocate one for each stream. */
const MANY_BORROWED = 1024;

/** Borrows a buffer of at least `bytes` bytes, whose contents are arbitrary. */
function borrowBuffer(bytes: number): Uint8Array {
  const buffer = held.pop();
  if (buffer === undefined) {
    lent++;
    return takeBuffer(Math.max(bytes, SMALLEST));
  }
  heldBytes -= buffer.length;
  if (buffer.length >= bytes) return buffer;
  giveBuffer(buffer);
  return takeBuffer(bytes);
}

function returnBuffer(buffer: Uint8Array): void {
  if (buffer.length > MAX_SIZE || heldBytes + buffer.length > MAX_HELD_BYTES) {
    lent--;
    giveBuffer(buffer);
    return;
  }
  held.push(buffer);
  heldBytes += buffer.length;
}

/** Returns true if so many buffers are borrowed that frames should be sent at once. */
export function areManyBorrowed(): boolean {
  return held.length === 0 && lent > MANY_BORROWED;
}

/** Appends frames to one growing buffer. At most one frame is being written at a time. */
export class FrameWriter extends ByteWriter {
  private open = false;
  /** Number of bytes reserved for a frame's length field. */
  private lengthSize: 2 | 4 = 2;
  private readonly initialSize: number;

  /**
   * @param initialSize bytes of the writer's own buffer; if 0, a shared buffer is borrowed for the first byte and
   * returned by `clear`
   */
  constructor(initialSize: number = 0) {
    super(initialSize === 0 ? NOTHING : new Uint8Array(initialSize));
    this.initialSize = initialSize;
  }

  override reserve(length: number): void {
    const needed = this.position + length;
    if (needed <= this.buffer.length) return;
    if (this.buffer === NOTHING) {
      this.buffer = borrowBuffer(needed);
      return;
    }
    const larger = takeBuffer(Math.max(needed, this.buffer.length * 2));
    larger.set(this.buffer.subarray(0, this.position));
    giveBuffer(this.buffer);
    this.buffer = larger;
  }

  /**
   * Writes one frame and returns its size in bytes, including its length field. `write` appends the body and may run
   * application code. If it throws, the frame is removed and the error is rethrown.
   *
   * @param write called with this writer and the position at which the frame begins
   * @param start position of earlier bytes that belong to the frame and are removed with it
   */
  frame(
    typeAndFlags: number,
    callId: number,
    write: (out: this, mark: number) => void,
    start: number = this.position,
  ): number {
    const mark = this.begin(typeAndFlags, callId);
    try {
      write(this, mark);
      return this.commit(mark);
    } catch (error) {
      this.abandon(start);
      throw error;
    }
  }

  /**
   * Begins a frame and returns its position, the `mark`. Used instead of `frame` for the most frequent frames, because
   * it needs no closure. The caller then calls `commit`, or `abandon` if anything throws.
   */
  begin(typeAndFlags: number, callId: number): number {
    this.requireIdle();
    this.reserve(MAX_HEADER + 4);
    this.open = true;
    const mark = this.position;
    const { buffer } = this;
    const at = mark + this.lengthSize;
    buffer[at] = typeAndFlags;
    this.position = writeVarint(buffer, at + 1, callId);
    return mark;
  }

  /** Removes all bytes from position `start`, including the frame that is being written there. */
  abandon(start: number): void {
    this.open = false;
    this.position = start;
    if (start === 0) this.clear();
  }

  /** Appends the ids of a method to a frame that was just begun: service (2 bytes, big-endian) | method (varint). */
  methodId(serviceId: number, methodId: number): void {
    const { buffer, position } = this;
    // `begin` has reserved room for these bytes.
    buffer[position] = serviceId >>> 8;
    buffer[position + 1] = serviceId;
    this.position = writeVarint(buffer, position + 2, methodId);
  }

  get idle(): boolean {
    return !this.open;
  }

  /**
   * Throws if a frame is being written. The encoder of a payload may run application code (getters), which may start a
   * call on this writer.
   */
  requireIdle(): void {
    if (this.open) throw new Error("a message was encoded while another was being encoded");
  }

  /**
   * Ends the frame that began at `mark`, and returns its size in bytes. If its length field needs four bytes instead of
   * two, the next frame reserves four, so that it need not be moved.
   */
  commit(mark: number): number {
    const length = this.position - mark - this.lengthSize;
    const fits = length <= VARINT2_MAX;
    if (this.lengthSize === 4) {
      writeVarint4(this.buffer, mark, length);
      if (fits) this.lengthSize = 2;
    } else if (fits) {
      writeVarint2(this.buffer, mark, length);
    } else {
      this.reserve(2);
      this.buffer.copyWithin(mark + 4, mark + 2, this.position);
      this.position += 2;
      writeVarint4(this.buffer, mark, length);
      this.lengthSize = 4;
    }
    this.open = false;
    return this.position - mark;
  }

  /**
   * Returns the size in bytes of the frame that began at `mark`, as written so far, with a length field of four bytes.
   */
  sizeSince(mark: number): number {
    return this.position - mark + 4 - this.lengthSize;
  }

  flag(mark: number, flag: number): void {
    (this.buffer[mark + this.lengthSize] as number) |= flag;
  }

  /**
   * Removes all written data. Returns a borrowed buffer, and releases memory if an unusually large burst has enlarged
   * an own one.
   */
  clear(): void {
    this.position = 0;
    if (this.initialSize === 0) {
      if (this.buffer !== NOTHING) returnBuffer(this.buffer);
      this.buffer = NOTHING;
    } else if (this.buffer.length > this.initialSize * 16) {
      giveBuffer(this.buffer);
      this.buffer = new Uint8Array(this.initialSize);
    }
  }
}

const encoder = new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder();

/** Returns `text`, cut so that its UTF-8 has at most `maxBytes` bytes and no character is split. */
export function cutText(text: string, maxBytes: number): string {
  return text.length * 3 <= maxBytes ? text : decoder.decode(encodeText(text, maxBytes));
}

/** Returns the UTF-8 of `text`, cut to at most `maxBytes` bytes without splitting a character. */
export function encodeText(text: string, maxBytes: number = Number.POSITIVE_INFINITY): Uint8Array {
  const bytes = encoder.encode(text.slice(0, maxBytes));
  if (bytes.length <= maxBytes) return bytes;
  let end = maxBytes;
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
}
