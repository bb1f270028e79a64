import { onAbort } from "../call/abort.js";
import { expiries } from "../call/expiries.js";
import { type Code, RpcError } from "../errors.js";
import type { InterceptedAnswer, InterceptedCall, Interceptor } from "./interceptor.js";
import { withOutputs } from "./observed.js";

/** Options of `retry`. */
export interface RetryOptions {
  /** How often a call is made at most, the first time included. Default 4. */
  readonly maxAttempts?: number;
  /** The longest delay before the first retry; each further one is `factor` times longer. Default 50 ms. */
  readonly initialDelayMs?: number;
  /** Default 5,000. */
  readonly maxDelayMs?: number;
  /** Default 2. */
  readonly factor?: number;
  /** Errors after which an idempotent call is made again. Default: `unavailable`. */
  readonly codes?: readonly Code[];
  /**
   * Retries that the calls of this interceptor may have in stock: each takes one, each call that succeeds earns
   * a tenth. Without one nothing is made again, so that retries never multiply an outage. Default 10.
   */
  readonly budget?: number;
  /** From 0 to 1, for the jitter. Default: `Math.random`. */
  readonly random?: () => number;
}

/** Tokens that a call which succeeds adds to the budget. */
const EARNED = 0.1;

/**
 * Makes calls again that may be: those of idempotent methods that failed with one of `codes`, and any that no handler was
 * entered for. Delays grow exponentially with full jitter and end with the deadline. A stream is retried until its
 * first item; a call whose caller streams never is. For callers. `onResponseMetadata` and `onTrailers` hear of each attempt.
 */
export function retry(options: RetryOptions = {}): Interceptor {
  const { maxAttempts = 4, budget = 10, codes = ["unavailable"] } = options;
  let stock = budget;
  const mayRetry = (call: InterceptedCall, error: RpcError, attempt: number): boolean => {
    const harmless = error.refused || (call.method.idempotent && codes.includes(error.code));
    if (!harmless || attempt >= maxAttempts || stock < 1 || (call.signal?.aborted ?? false)) return false;
    stock--;
    return true;
  };
  const attempt = async <T>(call: InterceptedCall, once: () => Promise<T>): Promise<T> => {
    for (let count = 1; ; count++) {
      try {
        const result = await once();
        stock = Math.min(budget, stock + EARNED);
        return result;
      } catch (thrown) {
        const error = RpcError.from(thrown);
        const delay = delayOf(options, count);
        const inTime = call.deadline === undefined || Date.now() + delay < call.deadline;
        if (!inTime || !mayRetry(call, error, count)) throw thrown;
        await sleep(delay, call.signal);
      }
    }
  };
  return (call, next) => {
    if (call.inputs !== undefined) return next(call);
    return attempt(call, async () => withFirstItem(await next(call)));
  };
}

function delayOf(
  { initialDelayMs = 50, maxDelayMs = 5000, factor = 2, random = Math.random }: RetryOptions,
  n: number,
): number {
  return random() * Math.min(maxDelayMs, initialDelayMs * factor ** (n - 1));
}

/** Rejects when the signal fires. */
function sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const expiry = expiries.add(delayMs, () => {
      forget?.();
      resolve();
    });
    const forget =
      signal &&
      onAbort(signal, () => {
        expiries.remove(expiry);
        reject(RpcError.from(signal.reason, "cancelled"));
      });
  });
}

/** A streamed answer once its first item, its end or its error is known. */
async function withFirstItem(answer: InterceptedAnswer): Promise<InterceptedAnswer> {
  if (answer.outputs === undefined) return answer;
  const iterator = answer.outputs[Symbol.asyncIterator]();
  let first: IteratorResult<unknown> | undefined = await iterator.next();
  return withOutputs(answer, {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const next = first ?? (await iterator.next());
        first = undefined;
        return next;
      },
      return: async () => {
        await iterator.return?.();
        return { done: true, value: undefined };
      },
    }),
  });
}
