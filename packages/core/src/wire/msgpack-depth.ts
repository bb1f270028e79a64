/** Of the types 0xc0 to 0xdf: bytes after the first, where their number is fixed. */
const FIXED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17];
// The first types of runs whose length fields have 1, 2 and 4 bytes.
const BIN8 = 0xc4;
const EXT8 = 0xc7;
const EXT32 = 0xc9;
const STR8 = 0xd9;
const ARRAY16 = 0xdc;
const MAP16 = 0xde;

/**
 * Throws `RangeError` when the MessagePack value in `bytes[start, end)` is nested deeper than `maxDepth` levels. What is
 * wrong with it otherwise is left to the reader.
 */
export function requireShallow(bytes: Uint8Array, start: number, end: number, maxDepth: number): void {
  /** Values that are still to come, of each level. */
  const left = [1];
  let depth = 0;
  let at = start;
  while (at < end) {
    while (left[depth] === 0) if (--depth < 0) return;
    (left[depth] as number)--;
    const type = bytes[at++] as number;
    let count = 0;
    if (type < 0x80 || type >= 0xe0) continue;
    if (type < 0x90) count = (type & 0x0f) * 2;
    else if (type < 0xa0) count = type & 0x0f;
    else if (type < 0xc0) at += type & 0x1f;
    else if (type >= ARRAY16) {
      const size = type & 1 ? 4 : 2;
      count = uint(bytes, at, size) * (type >= MAP16 ? 2 : 1);
      at += size;
    } else if (type >= STR8) {
      const size = 1 << (type - STR8);
      at += size + uint(bytes, at, size);
    } else if (type >= EXT8 && type <= EXT32) {
      const size = 1 << (type - EXT8);
      at += size + 1 + uint(bytes, at, size);
    } else if (type >= BIN8 && type < EXT8) {
      const size = 1 << (type - BIN8);
      at += size + uint(bytes, at, size);
    } else at += FIXED[type - 0xc0] as number;
    if (count === 0) continue;
    if (++depth > maxDepth) throw new RangeError(`nested deeper than ${maxDepth} levels`);
    left[depth] = count;
  }
}

function uint(bytes: Uint8Array, at: number, size: number): number {
  let value = 0;
  for (let i = 0; i < size; i++) value = value * 256 + (bytes[at + i] ?? 0);
  return value;
}
