import { MAX_DISTINCT_KEYS } from "../fixed-limits.js";
import { misfit } from "./misfit.js";
import { allowance, count, countSteps } from "./reader.js";
import { RpcError } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";

/** Number of keys in a message that are read before distinct keys are counted. Few messages have more. */
const UNCOUNTED = 4096;

/** Number of distinct keys in a message after which each further key counts as `KEY_VALUES` values. */
const MANY = 1024;
/**
 * Number of values that each key counts as, once a message has more than `MANY` distinct keys. V8 then stores objects
 * as hash tables, which take ten times as long to create and 200 bytes more.
 */
const KEY_VALUES = 6;
/** Steps for a key that follows another key than the last time: V8 may need a new hidden class. */
const ORDER_STEPS = 1 / 2;

/** A key of an object, or a hash of it. */
type Key = number | string;

let uncounted = 0;
/** Each key, with the key that followed it the last time. */
let followers: Map<Key, Key> | undefined;
let lastKey: Key = "";

/** Forgets the keys of a message. `maxBytes` is that of the budget of the next one; infinite if there is none. */
function resetCounts(maxBytes: number): void {
  allowance.steps = maxBytes / STEP_BYTES;
  uncounted = 0;
  followers = undefined;
  lastKey = "";
}

/**
 * Counts `key` among the distinct keys of the message that is being decoded. V8 adds each key to a global table of
 * names, which takes time that the size of a message does not reflect. Throws the mismatch error if there are more than
 * `MAX_DISTINCT_KEYS`.
 */
export function countKey(key: Key): void {
  if (uncounted < UNCOUNTED) uncounted++;
  else if (allowance.values !== Number.POSITIVE_INFINITY) countDistinct(key);
}

function countDistinct(key: Key): void {
  followers ??= new Map();
  if (followers.get(lastKey) !== key) {
    followers.set(lastKey, key);
    countSteps(ORDER_STEPS);
  }
  lastKey = key;
  if (followers.size > MANY) count(KEY_VALUES);
  if (followers.size > MAX_DISTINCT_KEYS) countSteps(Number.POSITIVE_INFINITY);
}

/**
 * Bytes of memory that each decoded value counts as, in addition to its encoded bytes: about the size of an empty
 * object.
 */
const VALUE_BYTES = 32;
/** Bytes of a budget that permit one step of validation: with the default of 32 MiB, validation takes about 0.13 s at most. */
const STEP_BYTES = 256;

export type DecodeBudget = Pick<MemoryBudget, "max" | "room" | "refusal"> & Partial<Pick<MemoryBudget, "decodedBytes">>;

/**
 * Decodes the message in `bytes[start, end)` and sets `budget.decodedBytes` to the memory that it uses. Rethrows the
 * codec's errors. Throws `RpcError` `resource_exhausted` if the message has more values than the budget allows, takes
 * more steps of validation than its maximum allows, or has more than `MAX_DISTINCT_KEYS` distinct keys.
 *
 * @param isRequest true if no handler has seen the message: the property `refused` of the `RpcError` is then true
 */
export function decodeWithin(
  budget: DecodeBudget,
  codec: { decode(bytes: Uint8Array, start: number, end: number): unknown },
  bytes: Uint8Array,
  start: number,
  end: number,
  isRequest: boolean = false,
): unknown {
  // A codec may decode another message meanwhile, which counts toward the limits of both.
  const outer = allowance.values;
  const maxValues = Math.min(budget.room / VALUE_BYTES, outer, Number.MAX_SAFE_INTEGER);
  allowance.values = maxValues;
  if (outer === Number.POSITIVE_INFINITY) resetCounts(budget.max);
  try {
    const value = codec.decode(bytes, start, end);
    // The codec may have caught the error that stopped it, and returned a value.
    if (allowance.values < 0 || allowance.steps < 0) throw misfit();
    budget.decodedBytes = end - start + (maxValues - allowance.values) * VALUE_BYTES;
    return value;
  } catch (error) {
    // NaN if both the steps and the maximum were infinite.
    if (!(allowance.steps >= 0))
      throw new RpcError("resource_exhausted", "the message takes too long to validate: send it in parts");
    // A negative count means that the limit was exceeded, whichever error the codec then threw.
    throw allowance.values < 0 ? budget.refusal("a message of so many values", isRequest) : error;
  } finally {
    allowance.values += outer - maxValues;
    if (outer === Number.POSITIVE_INFINITY) resetCounts(outer);
  }
}
