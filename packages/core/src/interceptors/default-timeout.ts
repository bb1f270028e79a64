import { streamsOutput } from "../call/messages/payload.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { Interceptor } from "./interceptor.js";

/**
 * Returns an interceptor for callers that sets a deadline for calls without one. Calls whose response is a stream get
 * no deadline, because a stream may last arbitrarily long; set `timeoutMs` on such a call to limit it.
 *
 * @param timeoutMs timeout in milliseconds, or a function that returns it for a method, or undefined for no deadline
 */
export function defaultTimeout(timeoutMs: number | ((method: AnyMethod) => number | undefined)): Interceptor {
  return (call, next) => {
    if (call.deadline !== undefined || streamsOutput(call.method)) return next(call);
    const ms = typeof timeoutMs === "function" ? timeoutMs(call.method) : timeoutMs;
    return next(ms === undefined ? call : { ...call, deadline: Date.now() + ms });
  };
}
