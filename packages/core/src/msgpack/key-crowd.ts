// V8 hashes the numbers that are keys of a Map or Set without a random seed. So a peer can choose numbers that fall
// into the same bucket of the hash table, where each is compared with all earlier ones.
import { count, tableValues } from "./reader.js";

/**
 * Number of keys below which a Map or Set is accepted regardless of their hashes. Also the initial number of counted
 * buckets.
 */
const FEW = 256;
/**
 * Maximum keys in one bucket of a larger Map or Set. Keys that were not chosen to collide fill no bucket to a third of
 * this number.
 */
const MAX_IN_BUCKET = 64;

export const CROWDED = "too many numbers of one hash";

type Keys = ReadonlySet<unknown> | ReadonlyMap<unknown, unknown>;

/**
 * Returns a collision counter for `keys`, an empty Map or Set to which at most `size` keys will be added; undefined if
 * `size` is too small for collisions to matter.
 */
export function keyCrowd(keys: Keys, size: number): KeyCrowd | undefined {
  return size > FEW ? new KeyCrowd(keys) : undefined;
}

/**
 * Detects hash collisions: counts the keys of a Map or Set in each bucket of V8's hash table. The Map or Set must be
 * empty at first.
 */
export class KeyCrowd {
  readonly #keys: Keys;
  #size = 0;
  #inBuckets = new Uint8Array(FEW);

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  /**
   * Counts `key`, which was just added, and returns false if its bucket has too many keys. No further key may be added
   * after that.
   */
  admits(key: unknown): boolean {
    const { size } = this.#keys;
    // The key was there already.
    if (size === this.#size) return true;
    this.#size = size;
    if (size <= this.#inBuckets.length * 2) return this.#count(key) <= MAX_IN_BUCKET;
    this.#inBuckets = new Uint8Array(this.#inBuckets.length * 2);
    let largest = 0;
    for (const crowdKey of this.#keys.keys()) largest = Math.max(largest, this.#count(crowdKey));
    return largest <= MAX_IN_BUCKET;
  }

  /**
   * Counts `key` and returns the number of keys in its bucket. Returns 0 for a key that is not a number or bigint,
   * because V8 hashes it with a random seed.
   */
  #count(key: unknown): number {
    if (typeof key !== "number" && typeof key !== "bigint") return 0;
    const bucket = numberHash(key) & (this.#inBuckets.length - 1);
    return (this.#inBuckets[bucket] = (this.#inBuckets[bucket] as number) + 1);
  }
}

/** Returns a Set of `items`; undefined if too many numbers among them have colliding hashes. */
export function setOf(items: readonly unknown[]): Set<unknown> | undefined {
  count(tableValues(items.length));
  if (items.length <= FEW) return new Set(items);
  const set = new Set<unknown>();
  const crowd = new KeyCrowd(set);
  for (const item of items) {
    set.add(item);
    if (!crowd.admits(item)) return undefined;
  }
  return set;
}

/** Returns a Map of `entries`; undefined if too many numbers among the keys have colliding hashes. */
export function mapOf(
  entries: readonly (readonly [key: unknown, value: unknown])[],
): Map<unknown, unknown> | undefined {
  count(tableValues(entries.length));
  if (entries.length <= FEW) return new Map(entries);
  const map = new Map<unknown, unknown>();
  const crowd = new KeyCrowd(map);
  for (const [key, value] of entries) {
    map.set(key, value);
    if (!crowd.admits(key)) return undefined;
  }
  return map;
}

const number = new DataView(new ArrayBuffer(8));

/**
 * Returns V8's hash of a number or bigint: `ComputeUnseededHash` for 32-bit integers, `ComputeLongHash` of the 64 bits
 * for others.
 */
function numberHash(key: number | bigint): number {
  if (typeof key === "bigint") number.setBigUint64(0, key < 0n ? -key : key);
  else if ((key | 0) === key) return intHash(key);
  else number.setFloat64(0, key);
  return longHash(number.getUint32(0), number.getUint32(4));
}

function intHash(key: number): number {
  let hash = (~key + (key << 15)) | 0;
  hash ^= hash >>> 12;
  hash = (hash + (hash << 2)) | 0;
  hash ^= hash >>> 4;
  hash = Math.imul(hash, 2057);
  return hash ^ (hash >>> 16);
}

const HIGH = 2 ** 32;

/**
 * Returns the lower 32 bits of V8's `ComputeLongHash`. Multiplies the 32-bit halves separately, because those products
 * are exact as numbers.
 */
function longHash(high: number, low: number): number {
  let product = low * 0x3ffff - 1;
  let upper = (high * 0x3ffff + Math.floor(product / HIGH)) >>> 0;
  let lower = (product ^ ((upper << 1) | (product >>> 31))) >>> 0;
  product = lower * 21;
  upper = ((upper ^ (upper >>> 31)) * 21 + Math.floor(product / HIGH)) >>> 0;
  lower = (product ^ ((upper << 21) | (product >>> 11))) >>> 0;
  product = lower * 65;
  upper = ((upper ^ (upper >>> 11)) * 65 + Math.floor(product / HIGH)) >>> 0;
  return product ^ ((upper << 10) | (product >>> 22));
}
