import type { MessageCodec } from "../contract/codec.js";
import { readWhole } from "../msgpack/message.js";
import type { Reader } from "../msgpack/reader.js";

/** Writes `value` at `p` and returns the position after it, which lies beyond the buffer where there is no room. */
export type Write<In> = (b: Uint8Array, p: number, value: In) => number;
/** Reads the value at `p` and leaves the position after it in the reader. */
export type Read<Out> = (r: Reader, p: number) => Out;

/** Room asked for before a message of unknown size is written. */
const FIRST_ROOM = 256;
/** Room that is asked for without having looked: no more than this is remembered of a large message. */
const MOST_ROOM = 64 * 1024;

/** The sending half of a codec: `write` where the value fits, `otherwise` for what it cannot handle. */
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

/** The receiving half: `read` where the bytes fit, `otherwise` for what it cannot handle. */
export function decoding<Out>(
  read: Read<Out>,
  otherwise: MessageCodec<unknown, Out>["decode"],
): MessageCodec<unknown, Out>["decode"] {
  return (bytes, start, end) => {
    try {
      return readWhole(bytes, start, end, read);
    } catch {
      // Not what was expected, or not enough of it.
    }
    return otherwise(bytes, start, end);
  };
}
