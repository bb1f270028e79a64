import { MAX_DISTINCT_KEYS } from "../fixed-limits.js";
import { misfit } from "./misfit.js";
import { allowance, count, exceed } from "./reader.js";
import { RpcError } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";

/** Keys of a message that are read before the distinct ones are counted: few messages have more. */
const UNCOUNTED = 4096;

/** After this many distinct keys in a message, each further key is charged `KEY_VALUES`. */
const MANY = 1024;
/**
 * Values that a key is charged then: V8 no longer finds a hidden class for such objects, and makes each a hash table, which
 * takes ten times as long and 200 bytes more.
 */
const KEY_VALUES = 4;

let uncounted = 0;
let distinct: Set<number | string> | undefined;

/** Forgets the keys and mismatches of the last message. */
function resetCounts(): void {
  allowance.mismatches = 0;
  allowance.excess = "";
  uncounted = 0;
  distinct = undefined;
}

/**
 * Counts `key` (or a hash of it) among the distinct keys of the current message. V8 adds each to a global table of
 * names, which takes time that the size of a message does not reflect. Throws if there are more than
 * `MAX_DISTINCT_KEYS`.
 */
export function countKey(key: number | string): void {
  if (uncounted < UNCOUNTED) uncounted++;
  else if (allowance.values !== Number.POSITIVE_INFINITY) countDistinct(key);
}

function countDistinct(key: number | string): void {
  distinct ??= new Set();
  distinct.add(key);
  if (distinct.size > MANY) count(KEY_VALUES);
  if (distinct.size > MAX_DISTINCT_KEYS) exceed(`${MAX_DISTINCT_KEYS} distinct keys`);
}

/** Bytes that a decoded value is charged in addition to its encoded bytes, about the size of an empty object. */
const VALUE_BYTES = 32;

/** The part of a memory budget that decoding needs. */
export type DecodeBudget = Pick<MemoryBudget, "room" | "refusal" | "decodedBytes">;

/**
 * Decodes the message in `bytes[start, end)`, and sets `budget.decodedBytes`. Throws the codec's error, and `RpcError`
 * `resource_exhausted` if the message has more values than the budget allows, more than `MAX_DISTINCT_KEYS` distinct
 * keys, or more than `MAX_MISMATCHES` values that do not match an option of a union.
 *
 * @param isRequest true if no handler has seen the message: the error then has `refused`
 */
export function decodeWithin(
  budget: DecodeBudget,
  codec: { decode(bytes: Uint8Array, start: number, end: number): unknown },
  bytes: Uint8Array,
  start: number,
  end: number,
  isRequest: boolean = false,
): unknown {
  // Code of a codec may decode another message: that counts for both.
  const outer = allowance.values;
  const most = Math.min(budget.room / VALUE_BYTES, outer, Number.MAX_SAFE_INTEGER);
  allowance.values = most;
  if (outer === Number.POSITIVE_INFINITY) resetCounts();
  try {
    const value = codec.decode(bytes, start, end);
    // A codec may have made something else of being stopped.
    if (allowance.values < 0) throw misfit();
    budget.decodedBytes = end - start + (most - allowance.values) * VALUE_BYTES;
    return value;
  } catch (error) {
    const { excess } = allowance;
    if (excess !== "")
      throw new RpcError("resource_exhausted", `the message has more than ${excess}: send it in parts`);
    // Even if the codec has caught the error that stopped it.
    throw allowance.values < 0 ? budget.refusal("a message of so many values", isRequest) : error;
  } finally {
    allowance.values += outer - most;
    if (outer === Number.POSITIVE_INFINITY) resetCounts();
  }
}
