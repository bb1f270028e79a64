import type { MessageCodec } from "../contract/codec.js";
import { type Reader, readWhole } from "../msgpack/reader.js";

/**
 * Writes `value` at position `p` of `b` and returns the position after it. If the buffer is too short, that position is
 * beyond its end.
 */
export type Write<In> = (b: Uint8Array, p: number, value: In) => number;
/** Reads the value at position `p`, and sets `r.position` to the position after it. */
export type Read<Out> = (r: Reader, p: number) => Out;

/** Bytes reserved in the buffer for the first message, whose size is unknown. */
const FIRST_ROOM = 256;
/** Maximum bytes reserved in the buffer because an earlier message had that size. */
const MOST_ROOM = 64 * 1024;

/**
 * Creates the `encode` function of a codec. The compiled `write` handles valid values; if it throws, `otherwise` is
 * called.
 */
export function encoding<In>(
  write: Write<In>,
  otherwise: (...given: [...Parameters<MessageCodec<In>["encode"]>, misfit: unknown]) => void,
): MessageCodec<In>["encode"] {
  let room = FIRST_ROOM;
  return (value, out) => {
    try {
      out.reserve(room);
      let end = write(out.buffer, out.position, value);
      if (end > out.buffer.length) {
        const needed = end - out.position;
        room = Math.min(Math.max(room, needed), MOST_ROOM);
        out.reserve(needed);
        end = write(out.buffer, out.position, value);
      }
      out.position = end;
    } catch (misfit) {
      otherwise(value, out, misfit);
    }
  };
}

/**
 * Creates the `decode` function of a codec. The compiled `read` handles valid bytes; if it throws, `otherwise` is
 * called.
 */
export function decoding<Out>(
  read: Read<Out>,
  otherwise: MessageCodec<unknown, Out>["decode"],
): MessageCodec<unknown, Out>["decode"] {
  return (bytes, start, end) => {
    try {
      return readWhole(bytes, start, end, read);
    } catch {
      // The bytes do not match, or are too short.
    }
    return otherwise(bytes, start, end);
  };
}
