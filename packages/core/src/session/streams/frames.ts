import { ProtocolError } from "../../errors.js";
import type { StreamLimits } from "../../limits.js";
import { ByteWriter } from "../../wire/byte-writer.js";
import { type Frame, flagsAllowed, TYPE_MASK } from "../../wire/frame.js";
import { readVarint, varintLengthFromFirstByte } from "../../wire/varint.js";

/** No frame is so long: a larger length is not waited for. */
const MAX_LENGTH = 2 ** 31 - 1;
/**
 * Splits bytes into frames: returns what takes them, and throws `ProtocolError` on what cannot be a frame.
 *
 * @param spend told how many more bytes are held, or fewer; throws where that is too much
 */
export function frameReader(
  { maxFrameBytes }: StreamLimits,
  spend: (bytes: number) => void,
  onFrame: (frame: Frame) => void,
): { push(chunk: Uint8Array): void; readonly midFrame: boolean; stop(): void } {
  /** The beginning of a frame whose rest has not arrived. It grows with what arrives, not by what a length promises. */
  const held = new ByteWriter();
  /** Bytes of it that `spend` was told of. */
  let counted = 0;
  /** Bytes of an oversized frame that are still to be passed over. */
  let toSkip = 0;
  let stopped = false;

  const count = (): void => {
    const more = held.position - counted;
    counted = held.position;
    spend(more);
  };
  /** Where the integer at `at` ends. */
  const after = (bytes: Uint8Array, at: number): number => at + varintLengthFromFirstByte(bytes[at] ?? 0);

  return {
    get midFrame() {
      return held.position + toSkip > 0;
    },
    stop() {
      stopped = true;
      held.position = 0;
      count();
    },
    push(chunk) {
      let bytes = chunk;
      const isHeld = held.position > 0;
      if (isHeld) {
        held.bytes(chunk);
        count();
        bytes = held.written();
      }
      const end = bytes.length;
      let at = 0;
      for (;;) {
        if (stopped) return;
        const skipped = Math.min(toSkip, end - at);
        toSkip -= skipped;
        at += skipped;
        // length | type and flags | call id | body
        const typeAt = after(bytes, at);
        const start = after(bytes, typeAt + 1);
        if (typeAt > end) break;
        const length = readVarint(bytes, at);
        if (length < 2 || length > MAX_LENGTH) throw unreadable(length);
        const next = typeAt + length;
        const size = next - at;
        const oversized = size > maxFrameBytes;
        if (start > end || (next > end && !oversized)) break;
        const typeAndFlags = bytes[typeAt] as number;
        const type = typeAndFlags & TYPE_MASK;
        const flags = typeAndFlags - type;
        if (start > next || !flagsAllowed(type, flags)) throw unreadable(length);
        onFrame({ type, flags, callId: readVarint(bytes, typeAt + 1), bytes, start, end: next, size, oversized });
        at = Math.min(next, end);
        toSkip = next - at;
      }
      if (isHeld) held.position = 0;
      if (at < end) held.bytes(bytes.subarray(at));
      count();
    },
  };
}

/** Of a length that none has, with flags without a meaning, or ending within its call id. */
function unreadable(length: number): ProtocolError {
  return new ProtocolError(`a frame of length ${length} is none`);
}

/** The error of a frame that may not come where it came. */
export function unexpected({ type, callId }: Frame): ProtocolError {
  return new ProtocolError(`a frame of type ${type} with call id ${callId} is not expected`);
}
