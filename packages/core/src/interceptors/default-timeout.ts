import type { AnyMethod } from "../contract/descriptor.js";
import type { Interceptor } from "./interceptor.js";

/**
 * Gives calls that have no deadline one. For callers.
 *
 * @param timeoutMs for every method, or by method; undefined for none
 */
export function defaultTimeout(timeoutMs: number | ((method: AnyMethod) => number | undefined)): Interceptor {
  return (call, next) => {
    if (call.deadline !== undefined) return next(call);
    const given = typeof timeoutMs === "function" ? timeoutMs(call.method) : timeoutMs;
    return next(given === undefined ? call : { ...call, deadline: Date.now() + given });
  };
}
