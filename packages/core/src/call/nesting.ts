import { RpcError } from "../errors.js";
import { MAX_DEPTH } from "../limits.js";

/**
 * Throws `invalid_argument` when `value`, as a codec decoded it, is nested deeper than `MAX_DEPTH`, or has a key that an
 * assignment would take for its prototype.
 */
export function requireModest(value: unknown, depth: number = 0): void {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
  if (depth >= MAX_DEPTH) throw tooDeep();
  if (Array.isArray(value)) {
    for (const item of value) requireModest(item, depth + 1);
  } else if (value instanceof Map) {
    for (const [key, item] of value) {
      requireModest(key, depth + 1);
      requireModest(item, depth + 1);
    }
  } else if (value instanceof Set) {
    for (const item of value) requireModest(item, depth + 1);
  } else {
    for (const [key, item] of Object.entries(value)) {
      if (key === "__proto__") throw new RpcError("invalid_argument", "a message has the key __proto__");
      requireModest(item, depth + 1);
    }
  }
}

export function tooDeep(): RpcError {
  return new RpcError("invalid_argument", `a message is nested deeper than ${MAX_DEPTH} levels`);
}
