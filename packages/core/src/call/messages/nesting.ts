import { RpcError } from "../../errors.js";
import { MAX_DEPTH } from "../../fixed-limits.js";
import { requireModestBigInt } from "../../msgpack/big-int.js";

/** Maximum number of values in a message to send. A frame has no space for more. */
const MAX_SENT = 2 ** 26;

/**
 * Throws `RpcError` `invalid_argument` if every receiver would refuse `value`: it is nested deeper than `MAX_DEPTH`
 * levels. Throws `RangeError` if it contains a bigint with too many digits.
 */
export function requireSendable(value: unknown): void {
  if (nodesLeft(value, MAX_SENT, MAX_DEPTH) < 0) {
    throw new RpcError("invalid_argument", `a message has more than ${MAX_SENT} values`);
  }
}

/**
 * Throws `RpcError` `invalid_argument` if the decoded `value` is unsafe to deliver: it is nested deeper than
 * `MAX_DEPTH` levels, has the key `__proto__`, or has more values than bytes because it contains an object several
 * times. Throws `RangeError` if it contains a bigint with too many digits.
 *
 * @param bytes size of the encoded message
 */
export function requireModest(value: unknown, bytes: number): void {
  // Without repeated objects, a message cannot contain more values than bytes.
  if (nodesLeft(value, bytes, MAX_DEPTH, refuseProto) < 0) requireOnce(value, new Set());
}

/** Returns true if `value` adds no nesting level: primitives, dates and binary data. */
function isScalar(value: unknown): boolean {
  return (
    typeof value !== "object" ||
    value === null ||
    value instanceof Date ||
    ArrayBuffer.isView(value) ||
    value instanceof ArrayBuffer
  );
}

function partsOf(value: object): Iterable<unknown> {
  if (value instanceof Map) return [...value].flat();
  return Array.isArray(value) || value instanceof Set ? (value as Iterable<unknown>) : Object.values(value);
}

/** Counts `value` and all values inside it, and returns `budget` minus that number. Stops when the result is negative. */
function nodesLeft(value: unknown, budget: number, depth: number, check?: (object: object) => void): number {
  if (typeof value === "bigint") requireModestBigInt(value);
  if (isScalar(value)) return budget - 1;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return nodesLeft(toJSON.call(value), budget, depth, check);
  if (depth === 0) throw tooDeep();
  check?.(value as object);
  let remaining = budget - 1;
  for (const part of partsOf(value as object)) {
    if (remaining < 0) break;
    remaining = nodesLeft(part, remaining, depth - 1, check);
  }
  return remaining;
}

function refuseProto(value: object): void {
  if (Object.hasOwn(value, "__proto__")) throw new RpcError("invalid_argument", "a message has the key __proto__");
}

/**
 * Throws if the same object occurs twice in `value`. With such references, a short message could represent more values
 * than fit into memory.
 */
function requireOnce(value: unknown, seen: Set<unknown>, depth: number = MAX_DEPTH): void {
  if (isScalar(value)) return;
  if (depth === 0) throw tooDeep();
  if (seen.has(value)) throw new RpcError("invalid_argument", "a message holds the same value in several places");
  seen.add(value);
  for (const part of partsOf(value as object)) requireOnce(part, seen, depth - 1);
}

export function tooDeep(): RpcError {
  return new RpcError("invalid_argument", `a message is nested deeper than ${MAX_DEPTH} levels`);
}
