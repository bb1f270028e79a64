import type { AnyMethod } from "../contract/descriptor.js";
import { streamsOutput } from "../contract/directions.js";
import type { Interceptor } from "./interceptor.js";

/**
 * Gives a deadline to calls that have none. For callers. Calls whose answer is a stream get none, because a stream may last as long as
 * both sides want: set `timeoutMs` on the call itself to bound one.
 *
 * @param timeoutMs for every method with a single answer, or by method; undefined for none
 */
export function defaultTimeout(timeoutMs: number | ((method: AnyMethod) => number | undefined)): Interceptor {
  return (call, next) => {
    if (call.deadline !== undefined || streamsOutput(call.method)) return next(call);
    const given = typeof timeoutMs === "function" ? timeoutMs(call.method) : timeoutMs;
    return next(given === undefined ? call : { ...call, deadline: Date.now() + given });
  };
}
