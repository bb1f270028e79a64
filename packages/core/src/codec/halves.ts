import type { MessageCodec } from "../contract/codec.js";
import { type Reader, readWhole } from "../msgpack/reader.js";

/** Writes `value` at `p` and returns the position after it, which is beyond the end of the buffer if there is not enough room. */
export type Write<In> = (b: Uint8Array, p: number, value: In) => number;
/** Reads the value at `p` and leaves the position after it in the reader. */
export type Read<Out> = (r: Reader, p: number) => Out;

/** Bytes reserved for the first message, whose size is unknown. */
const FIRST_ROOM = 256;
/** Most bytes reserved because of the size of an earlier message. */
const MOST_ROOM = 64 * 1024;

/** The sending half of a codec: `write` handles valid values, `otherwise` the rest. */
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

/** The receiving half of a codec: `read` handles valid bytes, `otherwise` the rest. */
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
