/** So many keys of one hash take an engine that looks at all of them each time hundreds of times as long as others. */
export const MANY = 10_000;
/** More than the buckets of a table for so many. */
const BUCKETS = 2 ** 14;

/** V8's `ComputeUnseededHash`, written apart from `key-crowd.ts`: a fault there is not to make keys here that hide it. */
function intHash(key: number): number {
  let hash = (~key + (key << 15)) | 0;
  hash ^= hash >>> 12;
  hash = (hash + (hash << 2)) | 0;
  hash ^= hash >>> 4;
  hash = Math.imul(hash, 2057);
  return hash ^ (hash >>> 16);
}

const WORD = (1n << 64n) - 1n;
const INVERSE_OF_65 = inverse(65n);
const INVERSE_OF_21 = inverse(21n);
const INVERSE_OF_FACTOR = inverse((1n << 18n) - 1n);

/** The number by which `odd` is 1, modulo 2^64. */
function inverse(odd: bigint): bigint {
  let found = 1n;
  for (let i = 0; i < 6; i++) found = (found * (2n - odd * found)) & WORD;
  return found;
}

/** The key of 64 bits for which V8's `ComputeLongHash` has `hash` before it is cut to 30 bits. */
function keyOf(hash: bigint): bigint {
  const unshifted = (value: bigint, by: bigint): bigint => {
    let result = value;
    for (let i = 0; i < 6; i++) result = value ^ (result >> by);
    return result;
  };
  let key = (unshifted(hash, 22n) * INVERSE_OF_65) & WORD;
  key = (unshifted(key, 11n) * INVERSE_OF_21) & WORD;
  return ((unshifted(key, 31n) + 1n) * INVERSE_OF_FACTOR) & WORD;
}

function* integers(): Generator<number> {
  for (let i = 1; ; i++) if ((intHash(i) & (BUCKETS - 1)) === 0) yield i;
}

function* words(): Generator<bigint> {
  for (let i = 1n; ; i++) yield keyOf(i * 2n ** 30n);
}

function* doubles(): Generator<number> {
  const view = new DataView(new ArrayBuffer(8));
  for (const word of words()) {
    view.setBigUint64(0, word);
    const double = view.getFloat64(0);
    // An integer of 32 bits has another hash.
    if (Number.isFinite(double) && double !== Math.trunc(double)) yield double;
  }
}

function* take<T>(keys: Iterable<T>, count: number): Generator<T> {
  let left = count;
  for (const key of keys) {
    if (left-- <= 0) return;
    yield key;
  }
}

/** Numbers of one bucket in the tables of V8, of each kind. */
export const colliding = {
  integers: (count: number): number[] => [...take(integers(), count)],
  doubles: (count: number): number[] => [...take(doubles(), count)],
  bigints: (count: number): bigint[] => [...take(words(), count)],
};
