import { ProtocolError } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";
import { type Frame, flagsAllowed, TYPE_MASK } from "./frame.js";
import { giveBuffer, takeBuffer, takeSpareBuffer } from "./spare-buffers.js";
import { readVarint, varintLengthFromFirstByte } from "./varint.js";

const NOTHING = new Uint8Array(0);
/** A buffer of at most this size is kept for the next frame that comes in pieces; a larger one is for all to use. */
const KEPT_BUFFER = 4 * 1024;

/** The most that length, type and call id take. */
const MAX_PRELUDE = 17;

/** No frame is so long: a larger length is not waited for. */
const MAX_LENGTH = 2 ** 31 - 1;

/** Splits a byte stream into frames. Synchronous; throws `ProtocolError` on what cannot be a frame. */
export class FrameReader {
  private readonly frame: Frame = {
    type: 0,
    flags: 0,
    callId: 0,
    bytes: NOTHING,
    start: 0,
    end: 0,
    size: 0,
    oversized: false,
  };
  /** The beginning of a frame whose rest has not arrived. */
  private partial: Uint8Array = NOTHING;
  private partialLength = 0;
  /** Bytes of it that the budget holds. */
  private charged = 0;
  /** Bytes of an oversized frame that are still to be passed over. */
  private toSkip = 0;
  private stopped = false;
  private readonly maxFrameBytes: number;
  private readonly budget: MemoryBudget;

  /** @param budget charged for large frames that have begun to arrive; one that it has no room for is emitted as `oversized` */
  constructor(maxFrameBytes: number, budget: MemoryBudget) {
    this.maxFrameBytes = maxFrameBytes;
    this.budget = budget;
  }

  /** Whether the bytes so far end within a frame. */
  get midFrame(): boolean {
    return this.partialLength > 0 || this.toSkip > 0;
  }

  /** Ends the current and every later `push`: for an owner that has given the stream up. */
  stop(): void {
    this.stopped = true;
    giveBuffer(this.partial);
    this.partial = NOTHING;
    this.setPartialLength(0);
  }

  /** Calls `onFrame` for each frame that `chunk`, from `position` on, completes. */
  push(chunk: Uint8Array, position: number, onFrame: (frame: Frame) => void): void {
    let at = position;
    if (this.partialLength > 0) at = this.completePartial(chunk, at, onFrame);
    while (!this.stopped && at < chunk.length) {
      if (this.toSkip > 0) {
        const skipped = Math.min(this.toSkip, chunk.length - at);
        this.toSkip -= skipped;
        at += skipped;
        continue;
      }
      const size = this.frameSize(chunk, at, chunk.length);
      if (size > this.maxFrameBytes && preludeSize(chunk, at, chunk.length) > 0) {
        this.emitOversized(chunk, at, size, onFrame);
        continue;
      }
      if (size === 0 || at + size > chunk.length) {
        if (!this.keep(chunk, at, chunk.length, size)) this.giveUpPartial(size, onFrame);
        return;
      }
      this.emit(chunk, at, size, onFrame);
      at += size;
    }
  }

  private completePartial(chunk: Uint8Array, position: number, onFrame: (frame: Frame) => void): number {
    let at = position;
    let size = this.frameSize(this.partial, 0, this.partialLength);
    while (size === 0 && at < chunk.length) {
      this.keep(chunk, at, at + 1, 0);
      at++;
      size = this.frameSize(this.partial, 0, this.partialLength);
    }
    if (size > this.maxFrameBytes) return this.completePrelude(chunk, at, size, onFrame);
    if (size === 0) return at;
    const taken = Math.min(size - this.partialLength, chunk.length - at);
    const fits = this.keep(chunk, at, at + taken, size);
    at += taken;
    if (this.partialLength < size) {
      if (!fits) this.giveUpPartial(size, onFrame);
      return at;
    }
    const whole = this.partial;
    this.setPartialLength(0);
    // Taken away while it is read: `onFrame` may push again.
    this.partial = NOTHING;
    this.emit(whole, 0, size, onFrame);
    if (whole.length > KEPT_BUFFER) giveBuffer(whole);
    else if (!this.stopped && this.partial === NOTHING) this.partial = whole;
    return at;
  }

  /** Of a frame that is too large, only what says whose it is. */
  private completePrelude(chunk: Uint8Array, position: number, size: number, onFrame: (frame: Frame) => void): number {
    let at = position;
    while (preludeSize(this.partial, 0, this.partialLength) === 0 && at < chunk.length) {
      this.keep(chunk, at, at + 1, 0);
      at++;
    }
    if (preludeSize(this.partial, 0, this.partialLength) > 0) this.giveUpPartial(size, onFrame);
    return at;
  }

  /** Tells of the frame that has begun to arrive, and passes over it. */
  private giveUpPartial(size: number, onFrame: (frame: Frame) => void): void {
    const { partial, partialLength } = this;
    this.setPartialLength(0);
    // Taken away while it is read, as a whole one is.
    this.partial = NOTHING;
    this.emitOversized(partial, 0, size, onFrame);
    this.toSkip -= partialLength;
    giveBuffer(partial);
  }

  /**
   * Grows with what has arrived; with what a length field promises, `size`, only where memory has been spent before. Returns
   * false where there is no memory for it.
   */
  private keep(chunk: Uint8Array, from: number, to: number, size: number): boolean {
    const length = this.partialLength + to - from;
    if (length > this.partial.length) {
      const larger = (size > KEPT_BUFFER ? takeSpareBuffer(size) : undefined) ?? takeBuffer(Math.max(64, length * 2));
      larger.set(this.partial.subarray(0, this.partialLength));
      giveBuffer(this.partial);
      this.partial = larger;
    }
    this.partial.set(chunk.subarray(from, to), this.partialLength);
    return this.setPartialLength(length, size > KEPT_BUFFER);
  }

  /** @param isLarge whether it is charged: the beginning of a small frame is its stream's */
  private setPartialLength(length: number, isLarge: boolean = false): boolean {
    this.partialLength = length;
    // By then it is known whose it is.
    const charged = isLarge && length > MAX_PRELUDE ? length : 0;
    const more = charged - this.charged;
    if (more === 0) return true;
    this.charged = charged;
    if (more > 0) return this.budget.charge(more);
    this.budget.release(-more);
    return true;
  }

  /** Bytes of the frame at `at`, its length field included; 0 while the length field is incomplete. */
  private frameSize(bytes: Uint8Array, at: number, end: number): number {
    const lengthSize = varintLengthFromFirstByte(bytes[at] as number);
    if (at + lengthSize > end) return 0;
    const length = readVarint(bytes, at);
    if (length < 2) throw new ProtocolError(`a frame of ${length} bytes is too short to be one`);
    if (length > MAX_LENGTH) throw new ProtocolError(`a frame of ${length} bytes is longer than any`);
    return lengthSize + length;
  }

  private emit(bytes: Uint8Array, at: number, size: number, onFrame: (frame: Frame) => void): void {
    const { frame } = this;
    const typeAt = at + varintLengthFromFirstByte(bytes[at] as number);
    const typeAndFlags = bytes[typeAt] as number;
    const idAt = typeAt + 1;
    const start = idAt + varintLengthFromFirstByte(bytes[idAt] as number);
    const end = at + size;
    if (start > end) throw new ProtocolError("a frame ends within its call id");
    frame.type = typeAndFlags & TYPE_MASK;
    frame.flags = typeAndFlags & ~TYPE_MASK;
    frame.callId = readVarint(bytes, idAt);
    if (!flagsAllowed(frame.type, frame.flags)) throw new ProtocolError("a frame has flags without a meaning");
    frame.bytes = bytes;
    frame.start = start;
    frame.end = end;
    frame.size = size;
    frame.oversized = false;
    onFrame(frame);
    // A stream at rest must not keep the transport's buffer that its last frame came in.
    frame.bytes = NOTHING;
  }

  private emitOversized(bytes: Uint8Array, at: number, size: number, onFrame: (frame: Frame) => void): void {
    const { frame } = this;
    const typeAt = at + varintLengthFromFirstByte(bytes[at] as number);
    const typeAndFlags = bytes[typeAt] as number;
    frame.type = typeAndFlags & TYPE_MASK;
    frame.flags = typeAndFlags & ~TYPE_MASK;
    frame.callId = readVarint(bytes, typeAt + 1);
    frame.bytes = NOTHING;
    frame.start = 0;
    frame.end = 0;
    frame.size = size;
    frame.oversized = true;
    this.toSkip = size;
    onFrame(frame);
  }
}

/** Bytes of length, type and call id together; 0 while they are incomplete. */
function preludeSize(bytes: Uint8Array, at: number, end: number): number {
  const idAt = at + varintLengthFromFirstByte(bytes[at] as number) + 1;
  if (idAt >= end) return 0;
  const size = idAt + varintLengthFromFirstByte(bytes[idAt] as number) - at;
  return at + size > end ? 0 : size;
}
