/** Maximum bytes of an array that V8 keeps inside its heap. */
const ON_HEAP = 64;
const SLAB_BYTES = 4096;

let slab: Uint8Array | undefined;
let used = 0;

/**
 * Returns a message that is decoded by itself, in an array from which it can be decoded fast: V8 keeps a small array
 * inside its heap, and would allocate a buffer when the decoder asks for it.
 */
export function readyToDecode(message: Uint8Array): { bytes: Uint8Array; position: number; end: number } {
  const { length } = message;
  if (length > ON_HEAP) return { bytes: message, position: 0, end: length };
  if (slab === undefined || used + length > SLAB_BYTES) {
    slab = new Uint8Array(SLAB_BYTES);
    used = 0;
  }
  const position = used;
  slab.set(message, position);
  used += length;
  return { bytes: slab, position, end: used };
}
