import { expiries } from "../call/expiries.js";
import { watch } from "../call/watch.js";
import { RpcError } from "../errors.js";
import { type InterceptedCall, type Interceptor, withoutPermissionCheck } from "./interceptor.js";
import { observed } from "./observed.js";

/** Options of `concurrencyLimit`. */
export interface ConcurrencyLimitOptions {
  /** Calls in progress at once; a stream counts until it is over. */
  readonly maxCalls: number;
  /** Calls that wait for their turn; more fail with `resource_exhausted`. Default 0. */
  readonly maxQueued?: number;
}

/** Bounds the calls in progress, on either side. One interceptor counts all calls it stands around. */
export function concurrencyLimit({ maxCalls, maxQueued = 0 }: ConcurrencyLimitOptions): Interceptor {
  let inProgress = 0;
  const queue = new Set<() => void>();
  const leave = (): void => {
    const [next] = queue;
    // Its place goes to the next in line.
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
      return observed(await next(call), { onOver: leave });
    } catch (error) {
      leave();
      throw error;
    }
  });
}

/** Waits for a place. Rejects when the call's signal fires or its time is over before. */
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
