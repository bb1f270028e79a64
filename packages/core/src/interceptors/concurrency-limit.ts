import { expiries } from "../call/expiries.js";
import { watch } from "../call/watch.js";
import { RpcError } from "../errors.js";
import { type InterceptedCall, type Interceptor, withoutPermissionCheck } from "./interceptor.js";
import { observeResponse } from "./observed.js";

export interface ConcurrencyLimitOptions {
  /** Maximum number of calls in progress. A streaming call counts until its stream ends. */
  readonly maxCalls: number;
  /** Maximum number of waiting calls; further calls fail with `resource_exhausted`. Default 0. */
  readonly maxQueued?: number;
}

/**
 * Returns an interceptor that limits the number of concurrent calls, for callers or servers. If it is added to several
 * callers or routers, it counts their calls together.
 */
export function concurrencyLimit({ maxCalls, maxQueued = 0 }: ConcurrencyLimitOptions): Interceptor {
  let inProgress = 0;
  const queue = new Set<() => void>();
  const release = (): void => {
    const [next] = queue;
    // If a call waits, it takes the place, so the count stays the same.
    if (next === undefined) inProgress--;
    else next();
  };
  const acquire = (call: InterceptedCall): Promise<void> | void => {
    if (inProgress < maxCalls) {
      inProgress++;
      return;
    }
    if (queue.size < maxQueued) return waitForTurn(queue, call);
    const text = `${maxCalls} calls are in progress (maxCalls) and ${maxQueued} wait (maxQueued)`;
    throw new RpcError("resource_exhausted", text, { refused: true });
  };
  return withoutPermissionCheck(async (call, next) => {
    await acquire(call);
    try {
      return observeResponse(await next(call), { onOver: release });
    } catch (error) {
      release();
      throw error;
    }
  });
}

function waitForTurn(queue: Set<() => void>, { signal, deadline }: InterceptedCall): Promise<void> {
  return new Promise((resolve, reject) => {
    const onTurn = (): void => {
      queue.delete(onTurn);
      unwatch?.();
      resolve();
    };
    const cancel = (error: RpcError): void => {
      queue.delete(onTurn);
      reject(error);
    };
    queue.add(onTurn);
    const unwatch = watch({ signal }, deadline && deadline - Date.now(), { cancel }, expiries);
  });
}
