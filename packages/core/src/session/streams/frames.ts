import { ProtocolError } from "../../errors.js";
import type { Limits } from "../../limits.js";
import { type Frame, flagsAllowed, TYPE_MASK } from "../../wire/frame.js";
import type { ReadBudget } from "../../wire/reader.js";
import { readVarint, varintLengthFromFirstByte } from "../../wire/varint.js";

/** No frame is so long: a larger length is not waited for. */
const MAX_LENGTH = 2 ** 31 - 1;
/** Splits bytes into frames: returns what takes them, and throws `ProtocolError` on what cannot be a frame. */
export function frameReader(
  { maxFrameBytes }: Limits,
  budget: ReadBudget,
  onFrame: (frame: Frame) => void,
): { push(chunk: Uint8Array): void; readonly midFrame: boolean; stop(): void } {
  /** The beginning of a frame whose rest has not arrived. It grows with what arrives, not by what a length promises. */
  let held = new Uint8Array(64);
  let heldLength = 0;
  /** Bytes of an oversized frame that are still to be passed over. */
  let toSkip = 0;
  let stopped = false;

  const hold = (length: number): void => {
    budget.usedBytes += length - heldLength;
    heldLength = length;
    if (budget.usedBytes > budget.maxBytes)
      throw new ProtocolError(`unfinished frames exceed limits.maxUnfinishedBytes (${budget.maxBytes})`);
  };
  /** Where the integer at `at` ends. */
  const after = (bytes: Uint8Array, at: number): number => at + varintLengthFromFirstByte(bytes[at] ?? 0);

  return {
    get midFrame() {
      return heldLength + toSkip > 0;
    },
    stop() {
      stopped = true;
      hold(0);
    },
    push(chunk) {
      let bytes = chunk;
      if (heldLength > 0) {
        const length = heldLength + chunk.length;
        if (length > held.length) {
          const larger = new Uint8Array(length * 2);
          larger.set(held.subarray(0, heldLength));
          held = larger;
        }
        held.set(chunk, heldLength);
        hold(length);
        bytes = held.subarray(0, length);
      }
      const end = bytes.length;
      let at = 0;
      while (!stopped) {
        const skipped = Math.min(toSkip, end - at);
        toSkip -= skipped;
        at += skipped;
        // length | type and flags | call id | body
        const typeAt = after(bytes, at);
        const start = after(bytes, typeAt + 1);
        if (typeAt > end) break;
        const length = readVarint(bytes, at);
        if (length < 2 || length > MAX_LENGTH) throw new ProtocolError(`a frame of ${length} bytes is none`);
        const next = typeAt + length;
        const size = next - at;
        const oversized = size > maxFrameBytes;
        if (start > end || (next > end && !oversized)) break;
        if (start > next) throw new ProtocolError("a frame ends within its call id");
        const typeAndFlags = bytes[typeAt] as number;
        const type = typeAndFlags & TYPE_MASK;
        const flags = typeAndFlags - type;
        if (!flagsAllowed(type, flags)) throw new ProtocolError("a frame has flags without a meaning");
        onFrame({ type, flags, callId: readVarint(bytes, typeAt + 1), bytes, start, end: next, size, oversized });
        at = Math.min(next, end);
        toSkip = next - at;
      }
      if (stopped) return;
      if (bytes === chunk) {
        if (at < end) held = bytes.slice(at);
      } else {
        held.copyWithin(0, at, end);
      }
      hold(end - at);
    },
  };
}
