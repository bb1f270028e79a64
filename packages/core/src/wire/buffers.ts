/**
 * Minimum and maximum bytes of a spare buffer: smaller buffers are cheap to allocate, and larger ones use too much
 * memory.
 */
const SMALLEST_SPARE = 4 * 1024;
const LARGEST_SPARE = 2 * 1024 * 1024;
/** Maximum spare buffers of each size. Each call in progress with a large message uses one. */
const OF_EACH_SIZE = 8;
/** Maximum bytes of all spare buffers together: memory that stays allocated after a burst of large messages. */
const MAX_SPARE_BYTES = 12 * 1024 * 1024;

/**
 * Large spare buffers by size, shared by all sessions of this thread. A buffer allocated for each large message would
 * be zeroed each time, and allocating and freeing memory outside the heap makes V8 collect the whole heap.
 */
const spares = new Map<number, Uint8Array[]>();
let spareBytes = 0;

/** Returns a buffer of at least `bytes` bytes, whose contents are arbitrary. */
export function takeBuffer(bytes: number): Uint8Array {
  return takeSpareBuffer(bytes) ?? new Uint8Array(sizeFor(bytes));
}

/** Takes a spare buffer of at least `bytes` bytes and less than twice as many; returns undefined if there is none. */
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
 * Returns the size of a buffer for `bytes` bytes. There are four sizes between one power of two and the next, so that a
 * frame slightly larger than 1 MiB does not need 2 MiB.
 */
function sizeFor(bytes: number): number {
  const step = 2 ** (29 - Math.clz32(bytes - 1));
  return Math.ceil(bytes / step) * step;
}
