import { ProtocolError } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";
import { FLAG_COMPRESSED, FLAG_HEAD, type Frame, TYPE_MASK } from "./frame.js";
import { giveBuffer, takeBuffer, takeSpareBuffer } from "./buffers.js";
import { readVarint, varintLengthFromFirstByte } from "./cursor.js";
import * as FrameType from "./frame-type.js";

const NOTHING = new Uint8Array(0);
/**
 * Maximum bytes of a buffer that the reader keeps for the next incomplete frame; larger buffers go back to the shared
 * ones.
 */
const KEPT_BUFFER = 4 * 1024;

/** Maximum bytes of a frame's length, type and call id together. */
const MAX_PRELUDE = 17;

/** Maximum length of a frame in bytes; a larger one violates the protocol. */
const MAX_LENGTH = 2 ** 31 - 1;

export interface FrameReceiver {
  /** Called with each frame, which is valid only during the call. */
  onFrame(frame: Frame): void;
}

/** Splits a byte stream into frames, synchronously. Throws `ProtocolError` for an invalid frame. */
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
  /** Beginning of a frame whose rest has not arrived. */
  private partial: Uint8Array = NOTHING;
  private partialLength = 0;
  /** Bytes of the incomplete frame that are charged to the memory budget. */
  private charged = 0;
  /** Number of remaining bytes of an oversized frame, which are skipped. */
  private toSkip = 0;
  protected stopped = false;
  private readonly maxFrameBytes: number;
  private readonly budget: MemoryBudget;

  /**
   * @param budget memory budget, charged for large frames while they arrive; if it is exhausted, a frame is delivered
   * as `oversized`
   */
  constructor(maxFrameBytes: number, budget: MemoryBudget) {
    this.maxFrameBytes = maxFrameBytes;
    this.budget = budget;
  }

  get midFrame(): boolean {
    return this.partialLength > 0 || this.toSkip > 0;
  }

  /** Ends the current `push` and ignores all later ones. Called when the stream has been aborted. */
  stop(): void {
    this.stopped = true;
    giveBuffer(this.partial);
    this.partial = NOTHING;
    this.setPartialLength(0);
  }

  /** Reads `chunk` from `position`, and passes each frame that is now complete to `to`. */
  push(chunk: Uint8Array, position: number, to: FrameReceiver): number {
    let at = position;
    while (!this.stopped && at < chunk.length) {
      if (this.toSkip > 0) {
        const skipped = Math.min(this.toSkip, chunk.length - at);
        this.toSkip -= skipped;
        at += skipped;
        continue;
      }
      const size = this.partialLength > 0 ? 0 : this.sizeOf(chunk, at, chunk.length);
      if (size > 0 && size <= this.maxFrameBytes && at + size <= chunk.length) {
        this.emit(chunk, at, size, false, to);
        at += size;
      } else {
        at = this.addToPartial(chunk, at, to);
      }
    }
    return at;
  }

  /**
   * Adds the part of `chunk` that belongs to the incomplete frame, unless the frame is skipped, and delivers the frame
   * if it is complete. Returns the position after that part.
   */
  private addToPartial(chunk: Uint8Array, position: number, to: FrameReceiver): number {
    let at = position;
    let size = this.sizeOf(this.partial, 0, this.partialLength);
    while (size === 0 && at < chunk.length) {
      this.keep(chunk, at, ++at, 0);
      size = this.sizeOf(this.partial, 0, this.partialLength);
    }
    if (size === 0) return at;
    const isAllowed = size <= this.maxFrameBytes;
    const taken = isAllowed ? Math.min(size - this.partialLength, chunk.length - at) : 0;
    const fits = isAllowed && this.keep(chunk, at, at + taken, size);
    at += taken;
    const { partial, partialLength } = this;
    if (partialLength < size && fits) return at;
    this.toSkip = size - partialLength;
    this.setPartialLength(0);
    // The buffer is detached while the frame is delivered, because the receiver may call `push` again.
    this.partial = NOTHING;
    this.emit(partial, 0, size, this.toSkip > 0, to);
    if (partial.length > KEPT_BUFFER) giveBuffer(partial);
    else if (!this.stopped && this.partial === NOTHING) this.partial = partial;
    return at;
  }

  /**
   * Appends bytes to the buffer of the incomplete frame. The buffer grows with the data that has arrived; it gets the
   * declared `size` only if that much memory was used before. Returns false if the memory budget is exhausted.
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

  /**
   * @param isLarge true if the frame's bytes are charged to the memory budget; small frames count as part of their
   * stream
   */
  private setPartialLength(length: number, isLarge: boolean = false): boolean {
    this.partialLength = length;
    // After the prelude, the call to which the frame belongs is known.
    const charged = isLarge && length > MAX_PRELUDE ? length : 0;
    const more = charged - this.charged;
    if (more === 0) return true;
    this.charged = charged;
    if (more > 0) return this.budget.charge(more);
    this.budget.release(-more);
    return true;
  }

  /**
   * Returns the size of the frame at `at`, including its length field; 0 if that is incomplete or, for a frame that is
   * too large, if its ids are incomplete.
   */
  private sizeOf(bytes: Uint8Array, at: number, end: number): number {
    const lengthSize = varintLengthFromFirstByte(bytes[at] as number);
    if (at + lengthSize > end) return 0;
    const length = readVarint(bytes, at);
    if (length < 2 || length > MAX_LENGTH) throw new ProtocolError(`no frame has ${length} bytes`);
    const size = lengthSize + length;
    const idAt = at + lengthSize + 1;
    if (size > this.maxFrameBytes && (idAt >= end || bodyAt(bytes, idAt) > end)) return 0;
    return size;
  }

  protected emit(bytes: Uint8Array, at: number, size: number, oversized: boolean, to: FrameReceiver): void {
    const { frame } = this;
    const typeAt = at + varintLengthFromFirstByte(bytes[at] as number);
    const typeAndFlags = bytes[typeAt] as number;
    const start = bodyAt(bytes, typeAt + 1);
    if (start > at + size) throw new ProtocolError("a frame ends within its call id");
    frame.type = typeAndFlags & TYPE_MASK;
    frame.flags = typeAndFlags & ~TYPE_MASK;
    frame.callId = readVarint(bytes, typeAt + 1);
    if (!flagsAllowed(frame.type, frame.flags)) throw new ProtocolError("a frame has flags without a meaning");
    frame.bytes = bytes;
    frame.start = start;
    frame.end = oversized ? start : at + size;
    frame.size = size;
    frame.oversized = oversized;
    to.onFrame(frame);
    // The frame must not keep the transport's buffer alive while the stream is idle.
    frame.bytes = NOTHING;
  }
}

function bodyAt(bytes: Uint8Array, idAt: number): number {
  return idAt + varintLengthFromFirstByte(bytes[idAt] as number);
}

const COMPRESSIBLE =
  (1 << FrameType.Request) |
  (1 << FrameType.Notify) |
  (1 << FrameType.Response) |
  (1 << FrameType.Error) |
  (1 << FrameType.Item);
const WITH_HEAD = COMPRESSIBLE | (1 << FrameType.End) | (1 << FrameType.Headers);
const KNOWN_FLAGS = FLAG_HEAD | FLAG_COMPRESSED;

function flagsAllowed(type: number, flags: number): boolean {
  const head = (flags & FLAG_HEAD) === 0 || ((WITH_HEAD >> type) & 1) === 1;
  const compressed = (flags & FLAG_COMPRESSED) === 0 || ((COMPRESSIBLE >> type) & 1) === 1;
  return head && compressed && (flags & ~KNOWN_FLAGS) === 0;
}
