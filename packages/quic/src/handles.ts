import { EARLY_STREAM, INDEX_BITS } from "./native-layout.js";

/**
 * Splits the packed generation of a stream that the peer opened. Returns the generation, and whether the stream arrived
 * before the handshake was complete.
 */
export function streamGeneration(packed: number): [generation: number, early: boolean] {
  return packed >= EARLY_STREAM ? [packed - EARLY_STREAM, true] : [packed, false];
}

const INDEX_SPAN = 2 ** INDEX_BITS;

/** Combines a table index and its generation into a handle. The generation occupies the bits above the index. */
export function packHandle(index: number, generation: number): number {
  return generation * INDEX_SPAN + index;
}

export function handleIndex(handle: number): number {
  return handle % INDEX_SPAN;
}
