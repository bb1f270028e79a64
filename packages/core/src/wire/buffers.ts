/** 2^12 to 2^21 bytes: smaller buffers are cheap, and larger ones too much to hold. */
const SMALLEST_POWER = 12;
const LARGEST_POWER = 21;
/** Calls with a large message on their way at once, of which each has one. */
const OF_EACH_SIZE = 8;
/** Bytes of all that nobody uses: what a burst of large messages may leave behind in a small container. */
const MAX_SPARE_BYTES = 12 * 1024 * 1024;

/**
 * Large buffers that nobody uses, of all sessions of this thread; at index i, of 2^i bytes. One allocated for every
 * large message is zeroed each time, and memory outside the heap that comes and goes makes V8 collect the whole heap.
 */
const spares: readonly Uint8Array[][] = Array.from({ length: LARGEST_POWER + 1 }, () => []);
let spareBytes = 0;

/** A buffer of at least `bytes`, with anything in it. */
export function takeBuffer(bytes: number): Uint8Array {
  const power = powerFor(bytes);
  if (power < SMALLEST_POWER || power > LARGEST_POWER) return new Uint8Array(bytes);
  return takeSpare(power) ?? new Uint8Array(2 ** power);
}

/** Takes a buffer as `takeBuffer` does; undefined where there is none. */
export function takeSpareBuffer(bytes: number): Uint8Array | undefined {
  return takeSpare(powerFor(bytes));
}

function takeSpare(power: number): Uint8Array | undefined {
  const spare = spares[power]?.pop();
  if (spare !== undefined) spareBytes -= spare.length;
  return spare;
}

/** Gives a buffer back, for others to take: nobody uses it any more. */
export function giveBuffer(buffer: Uint8Array): void {
  const power = powerFor(buffer.length);
  const alike = spares[power];
  if (alike === undefined || power < SMALLEST_POWER || buffer.length !== 2 ** power) return;
  if (alike.length >= OF_EACH_SIZE || spareBytes + buffer.length > MAX_SPARE_BYTES) return;
  alike.push(buffer);
  spareBytes += buffer.length;
}

/** Returns the exponent of the smallest power of two that holds `bytes`. */
function powerFor(bytes: number): number {
  return bytes > 2 ** LARGEST_POWER ? LARGEST_POWER + 1 : 32 - Math.clz32(bytes - 1);
}

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

/** Gives a borrowed buffer back, for others to take: nobody uses it any more. */
export function returnBuffer(buffer: Uint8Array): void {
  if (buffer.length > MAX_SIZE || heldBytes + buffer.length > MAX_HELD_BYTES) {
    giveBuffer(buffer);
    return;
  }
  held.push(buffer);
  heldBytes += buffer.length;
}
