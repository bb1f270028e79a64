import type { MessageCodec } from "../../contract/descriptor.js";
import { RpcError } from "../../errors.js";
import { MAX_DISTINCT_KEYS } from "../../fixed-limits.js";
import type { MemoryBudget } from "../../memory-budget.js";
import { hasTooManyKeys, resetKeys } from "../../msgpack/distinct-keys.js";
import { misfit } from "../../msgpack/misfit.js";
import { allowance } from "../../msgpack/reader.js";

/** Bytes that a decoded value is charged in addition to its encoded bytes, about the size of an empty object. */
const VALUE_BYTES = 32;

const TOO_MANY_KEYS = `the message has more than ${MAX_DISTINCT_KEYS} distinct keys: send it in parts, or the keys as values`;

/** The part of a memory budget that decoding needs. */
export type DecodeBudget = Pick<MemoryBudget, "room" | "refusal" | "decodedBytes">;

/**
 * Decodes the message in `bytes[start, end)`, and sets `budget.decodedBytes`. Throws the codec's error, and `RpcError`
 * `resource_exhausted` if the message has more values than the budget allows or more than `MAX_DISTINCT_KEYS` distinct
 * keys.
 *
 * @param isRequest true if no handler has seen the message: the error then has `refused`
 */
export function decodeWithin(
  budget: DecodeBudget,
  codec: MessageCodec<unknown>,
  bytes: Uint8Array,
  start: number,
  end: number,
  isRequest: boolean = false,
): unknown {
  // Code of a codec may decode another message: that counts for both.
  const outer = allowance.values;
  const most = Math.min(budget.room / VALUE_BYTES, outer, Number.MAX_SAFE_INTEGER);
  allowance.values = most;
  if (outer === Number.POSITIVE_INFINITY) resetKeys();
  try {
    const value = codec.decode(bytes, start, end);
    // A codec may have made something else of being stopped.
    if (allowance.values < 0) throw misfit();
    budget.decodedBytes = end - start + (most - allowance.values) * VALUE_BYTES;
    return value;
  } catch (error) {
    if (hasTooManyKeys()) throw new RpcError("resource_exhausted", TOO_MANY_KEYS);
    // Even if the codec has caught the error that stopped it.
    throw allowance.values < 0 ? budget.refusal("a message of so many values", isRequest) : error;
  } finally {
    allowance.values += outer - most;
    if (outer === Number.POSITIVE_INFINITY) resetKeys();
  }
}
