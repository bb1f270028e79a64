import { RpcError } from "../../errors.js";
import { MAX_DEPTH } from "../../fixed-limits.js";
import { requireModestBigInt } from "../../msgpack/big-int.js";

/** Maximum values in a message that is sent; no frame has room for more. */
const MAX_SENT = 2 ** 26;

/**
 * Throws `invalid_argument` if a receiver would refuse `value`, whatever the codec: it is nested deeper than
 * `MAX_DEPTH`, or contains a bigint of too many digits.
 */
export function requireSendable(value: unknown): void {
  if (nodesLeft(value, MAX_SENT, MAX_DEPTH) < 0) {
    throw new RpcError("invalid_argument", `a message has more than ${MAX_SENT} values`);
  }
}

/**
 * Throws `invalid_argument` if `value`, which a codec decoded from this many `bytes`, must not be delivered: it is
 * nested deeper than `MAX_DEPTH`, contains a bigint of too many digits or a key that an assignment would take for its
 * prototype, or refers to the same values repeatedly.
 */
export function requireModest(value: unknown, bytes: number): void {
  // As many values as bytes there can be without references.
  if (nodesLeft(value, bytes, MAX_DEPTH, refuseProto) < 0) requireOnce(value, new Set());
}

/** Returns true if an object is a single value as far as nesting is concerned. */
function isScalar(value: unknown): boolean {
  return (
    typeof value !== "object" ||
    value === null ||
    value instanceof Date ||
    ArrayBuffer.isView(value) ||
    value instanceof ArrayBuffer
  );
}

/** Returns the values directly inside a value that is not a scalar. */
function partsOf(value: object): Iterable<unknown> {
  if (value instanceof Map) return [...value].flat();
  return Array.isArray(value) || value instanceof Set ? (value as Iterable<unknown>) : Object.values(value);
}

/** Returns how many of `left` values remain after counting `value` and its parts; stops when none is left. */
function nodesLeft(value: unknown, left: number, depth: number, check?: (object: object) => void): number {
  if (typeof value === "bigint") requireModestBigInt(value);
  if (isScalar(value)) return left - 1;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return nodesLeft(toJSON.call(value), left, depth, check);
  if (depth === 0) throw tooDeep();
  check?.(value as object);
  let rest = left - 1;
  for (const part of partsOf(value as object)) {
    if (rest < 0) break;
    rest = nodesLeft(part, rest, depth - 1, check);
  }
  return rest;
}

function refuseProto(value: object): void {
  if (Object.hasOwn(value, "__proto__")) throw new RpcError("invalid_argument", "a message has the key __proto__");
}

/**
 * Throws if an object occurs in `value` twice: with references, a few bytes can represent more values than memory can
 * hold.
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
