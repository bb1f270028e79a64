import type { AnyMethod } from "../contract/descriptor.js";
import { streamsOutput } from "../contract/directions.js";
import type { Interceptor } from "./interceptor.js";

/**
 * Returns an interceptor for callers that sets a deadline for calls without one. Calls whose response is a stream get
 * none, because a stream may last as long as both sides want: to limit one, set `timeoutMs` on the call.
 *
 * @param timeoutMs milliseconds for every method with a single response, or a function of the method; undefined for no
 * deadline
 */
export function defaultTimeout(timeoutMs: number | ((method: AnyMethod) => number | undefined)): Interceptor {
  return (call, next) => {
    if (call.deadline !== undefined || streamsOutput(call.method)) return next(call);
    const ms = typeof timeoutMs === "function" ? timeoutMs(call.method) : timeoutMs;
    return next(ms === undefined ? call : { ...call, deadline: Date.now() + ms });
  };
}
