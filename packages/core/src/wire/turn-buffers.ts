import { giveBuffer, takeBuffer } from "./spare-buffers.js";

/** Small, since a broadcast to thousands of streams takes as many; those that grow stay so. */
const SMALLEST = 1024;
/** A buffer that a burst has made larger than this is not held here. */
const MAX_SIZE = 256 * 1024;
const MAX_HELD_BYTES = 2 * 1024 * 1024;

/**
 * Buffers of this thread that frames of one turn gather in, as long as none do: a session at rest has none. The last one
 * returned is the first to be taken, so that whoever is busy gets back what it has grown.
 */
const held: Uint8Array[] = [];
let heldBytes = 0;

/** A buffer of at least `bytes`, with anything in it. */
export function borrowBuffer(bytes: number): Uint8Array {
  const buffer = held.pop();
  if (buffer === undefined) return takeBuffer(Math.max(bytes, SMALLEST));
  heldBytes -= buffer.length;
  if (buffer.length >= bytes) return buffer;
  giveBuffer(buffer);
  return takeBuffer(bytes);
}

/** For others to take: whoever was shown the buffer is done with it. */
export function returnBuffer(buffer: Uint8Array): void {
  if (buffer.length > MAX_SIZE || heldBytes + buffer.length > MAX_HELD_BYTES) {
    giveBuffer(buffer);
    return;
  }
  held.push(buffer);
  heldBytes += buffer.length;
}
