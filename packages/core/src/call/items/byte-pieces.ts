import type { MessageCodec } from "../../contract/descriptor.js";
import type { Limits } from "../../limits.js";
import type { ItemSource } from "./item-source.js";

/** Most bytes of raw data in one frame: few enough that other calls of a lane get their turn in between. */
export const MAX_PIECE: number = 64 * 1024;
/** Maximum bytes of an item's frame in addition to its payload. */
const MAX_FRAMING = 16;

/** Returns the most bytes of one item of `codec`; undefined for messages, which are never split. */
export function bytePieceOf(
  codec: MessageCodec<unknown> | undefined,
  { maxFrameBytes }: Pick<Limits, "maxFrameBytes">,
): number | undefined {
  return codec?.bytes === true ? Math.min(MAX_PIECE, maxFrameBytes - MAX_FRAMING) : undefined;
}

/**
 * Splits `chunk` into pieces of at most `size` bytes. Anything that is not a chunk is passed on, for the codec to
 * refuse.
 */
export function cut(chunk: Uint8Array, size: number): Generator<Uint8Array, undefined>;
export function cut(chunk: unknown, size: number): Generator<unknown, undefined>;
export function* cut(chunk: unknown, size: number): Generator<unknown, undefined> {
  if (!(chunk instanceof Uint8Array) || chunk.length <= size) {
    yield chunk;
    return;
  }
  for (let at = 0; at < chunk.length; at += size) yield chunk.subarray(at, at + size);
}

/** The chunks of `source`, in pieces of at most `size` bytes. */
export function bytePieces(source: ItemSource, size: number): ItemSource {
  let pieces: Generator<unknown, undefined> | undefined;
  const fresh = (result: IteratorResult<unknown>): IteratorResult<unknown> => {
    if (result.done === true) return result;
    pieces = cut(result.value, size);
    return pieces.next();
  };
  return {
    next() {
      const rest = pieces?.next();
      if (rest?.done === false) return rest;
      const result = source.next();
      return "then" in result ? result.then(fresh) : fresh(result);
    },
    stop: () => source.stop(),
  };
}
