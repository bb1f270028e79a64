/** Smaller buffers are cheap, and larger ones too much to hold. */
const SMALLEST_SPARE = 4 * 1024;
const LARGEST_SPARE = 2 * 1024 * 1024;
/** Maximum spare buffers of each size; each call in progress with a large message uses one. */
const OF_EACH_SIZE = 8;
/** Most bytes of all spare buffers: the memory that a burst of large messages may leave allocated in a small container. */
const MAX_SPARE_BYTES = 12 * 1024 * 1024;

/**
 * Large spare buffers by size, shared by all sessions of this thread. A buffer allocated for each large message would
 * be zeroed each time, and allocating and freeing memory outside the heap makes V8 collect the whole heap.
 */
const spares = new Map<number, Uint8Array[]>();
let spareBytes = 0;

/** A buffer of at least `bytes`, with anything in it. */
export function takeBuffer(bytes: number): Uint8Array {
  return takeSpareBuffer(bytes) ?? new Uint8Array(sizeFor(bytes));
}

/** Takes a spare buffer of at least `bytes` and less than twice as many; undefined if there is none. */
export function takeSpareBuffer(bytes: number): Uint8Array | undefined {
  for (let size = sizeFor(bytes); size < 2 * bytes; size = sizeFor(size + 1)) {
    const spare = spares.get(size)?.pop();
    if (spare !== undefined) {
      spareBytes -= size;
      return spare;
    }
  }
  return undefined;
}

/** Returns a buffer that is no longer used to the spare buffers. */
export function giveBuffer(buffer: Uint8Array): void {
  const { length } = buffer;
  if (length < SMALLEST_SPARE || length > LARGEST_SPARE || length !== sizeFor(length)) return;
  const alike = spares.get(length) ?? [];
  if (alike.length >= OF_EACH_SIZE || spareBytes + length > MAX_SPARE_BYTES) return;
  spares.set(length, alike);
  alike.push(buffer);
  spareBytes += length;
}

/**
 * Returns the size of a buffer for `bytes`. There are four between one power of two and the next: a message of 1 MiB comes with
 * its head in a frame of a little more.
 */
function sizeFor(bytes: number): number {
  const step = 2 ** (29 - Math.clz32(bytes - 1));
  return Math.ceil(bytes / step) * step;
}

/** Small, since a broadcast to thousands of streams takes as many; those that grow stay so. */
const SMALLEST = 1024;
/** A buffer that a burst has made larger than this is not held here. */
const MAX_SIZE = 256 * 1024;
const MAX_HELD_BYTES = 2 * 1024 * 1024;

/**
 * Spare buffers of this thread, which gather the frames of one turn. An idle session has none. The last one returned is
 * taken first, so that a busy session gets back the buffer that it has grown.
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

/** Returns a borrowed buffer that is no longer used. */
export function returnBuffer(buffer: Uint8Array): void {
  if (buffer.length > MAX_SIZE || heldBytes + buffer.length > MAX_HELD_BYTES) {
    giveBuffer(buffer);
    return;
  }
  held.push(buffer);
  heldBytes += buffer.length;
}
