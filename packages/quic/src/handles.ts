import { EARLY_STREAM, INDEX_BITS } from "./native-layout.js";

/** Splits the generation of an accepted stream from the flag that it arrived before the handshake was complete. */
export function streamGeneration(packed: number): [generation: number, early: boolean] {
  return packed >= EARLY_STREAM ? [packed - EARLY_STREAM, true] : [packed, false];
}

const INDEX_SPAN = 2 ** INDEX_BITS;

/** Returns the handle of a table entry: the generation above the bits of the index. */
export function packHandle(index: number, generation: number): number {
  return generation * INDEX_SPAN + index;
}

/** Returns the table index in a handle. */
export function handleIndex(handle: number): number {
  return handle % INDEX_SPAN;
}
