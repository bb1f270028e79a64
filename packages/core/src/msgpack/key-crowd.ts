// V8 hashes numbers that are keys of a Map or Set without a seed. A peer can therefore choose keys of the same bucket,
// and each is compared with all before it.
import { count, tableValues } from "./reader.js";

/** Number of keys that a Map or Set may have regardless of their hashes. Also the smallest number of buckets that are counted. */
const FEW = 256;
/** Most keys of one bucket beyond that. Keys that were not chosen to collide fill no bucket to a third of this number. */
const MAX_IN_BUCKET = 64;

/** Describes the problem of refused keys. */
export const CROWDED = "too many numbers of one hash";

type Keys = ReadonlySet<unknown> | ReadonlyMap<unknown, unknown>;

/** Returns an object that counts `keys`, to which at most `size` will be added; undefined if these are few. */
export function keyCrowd(keys: Keys, size: number): KeyCrowd | undefined {
  return size > FEW ? new KeyCrowd(keys) : undefined;
}

/** Counts the keys of a Map or Set that begins empty, by the buckets of V8's hash table. */
export class KeyCrowd {
  readonly #keys: Keys;
  #size = 0;
  #inBuckets = new Uint8Array(FEW);

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  /** Returns true if the bucket of `key`, which was just added, has room for it. After the first false, no key may be added. */
  admits(key: unknown): boolean {
    const { size } = this.#keys;
    // One that was there already.
    if (size === this.#size) return true;
    this.#size = size;
    if (size <= this.#inBuckets.length * 2) return this.#count(key) <= MAX_IN_BUCKET;
    this.#inBuckets = new Uint8Array(this.#inBuckets.length * 2);
    let most = 0;
    for (const each of this.#keys.keys()) most = Math.max(most, this.#count(each));
    return most <= MAX_IN_BUCKET;
  }

  /** Counts `key`, and returns how many its bucket has. Of other values than numbers the hash is random. */
  #count(key: unknown): number {
    if (typeof key !== "number" && typeof key !== "bigint") return 0;
    const bucket = numberHash(key) & (this.#inBuckets.length - 1);
    return (this.#inBuckets[bucket] = (this.#inBuckets[bucket] as number) + 1);
  }
}

/** Returns the Set of `items`; undefined where numbers in it crowd a bucket. */
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

/** Returns the Map of `entries`; undefined where numbers among its keys crowd a bucket. */
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

/** V8's hash of a number or bigint: `ComputeUnseededHash` of integers of 32 bits, `ComputeLongHash` of the bits of others. */
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

/** The lower half of that hash, computed in halves: products of a half and a factor are exact. */
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
