import { expiries } from "../call/expiries.js";
import { watch } from "../call/watch.js";
import { RpcError } from "../errors.js";
import { type InterceptedCall, type Interceptor, withoutPermissionCheck } from "./interceptor.js";
import { observeResponse } from "./observed.js";

/** Options of `concurrencyLimit`. */
export interface ConcurrencyLimitOptions {
  /** Most calls in progress at once. A stream counts until it is over. */
  readonly maxCalls: number;
  /** Most calls that wait; more fail with `resource_exhausted`. Default 0. */
  readonly maxQueued?: number;
}

/**
 * Returns an interceptor that limits the calls in progress, on either side. It counts all calls of all callers and
 * routers to which it is added.
 */
export function concurrencyLimit({ maxCalls, maxQueued = 0 }: ConcurrencyLimitOptions): Interceptor {
  let inProgress = 0;
  const queue = new Set<() => void>();
  const leave = (): void => {
    const [next] = queue;
    // Otherwise the place goes to the next waiting call.
    if (next === undefined) inProgress--;
    else next();
  };
  const enter = (call: InterceptedCall): Promise<void> | void => {
    if (inProgress < maxCalls) {
      inProgress++;
      return;
    }
    if (queue.size < maxQueued) return turn(queue, call);
    const text = `${maxCalls} calls are in progress (maxCalls) and ${maxQueued} wait (maxQueued)`;
    throw new RpcError("resource_exhausted", text, { refused: true });
  };
  return withoutPermissionCheck(async (call, next) => {
    await enter(call);
    try {
      return observeResponse(await next(call), { onOver: leave });
    } catch (error) {
      leave();
      throw error;
    }
  });
}

/** Waits for a place. Rejects if the call's signal fires or its deadline passes first. */
function turn(queue: Set<() => void>, { signal, deadline }: InterceptedCall): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = (): void => {
      queue.delete(enter);
      unwatch?.();
      resolve();
    };
    const giveUp = (error: RpcError): void => {
      queue.delete(enter);
      reject(error);
    };
    queue.add(enter);
    const unwatch = watch({ signal }, deadline && deadline - Date.now(), { giveUp }, expiries);
  });
}
