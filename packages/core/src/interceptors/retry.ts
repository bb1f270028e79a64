import { sleep } from "../call/sleep.js";
import { noteRepeated } from "../call/once-key.js";
import { type Code, RpcError } from "../errors.js";
import { RetryBudget } from "../retry-budget.js";
import type { InterceptedAnswer, InterceptedCall, Interceptor } from "./interceptor.js";
import { withOutputs } from "./observed.js";

/** Options of `retry`. */
interface RetryOptions {
  /** How often a call is made at most, the first time included. Default 4. */
  readonly maxAttempts?: number;
  /** Milliseconds of the longest delay before the first retry; each further one is `factor` times longer. Default 50. */
  readonly initialDelayMs?: number;
  /** Milliseconds that no delay between two attempts exceeds. Default 5,000. */
  readonly maxDelayMs?: number;
  /** How many times longer each delay is than the one before. Default 2. */
  readonly factor?: number;
  /** Errors after which a call of a method that is `idempotent` or `once` is made again. Default: `unavailable`. */
  readonly codes?: readonly Code[];
  /**
   * Tokens that the calls of this interceptor share (gRPC's retry throttling): a failure that allows a retry takes one, an answer earns
   * `tokenRatio`. Nothing is made again while half of them or fewer are left, so that retries never multiply an outage. Default 10.
   */
  readonly maxTokens?: number;
  /** Tokens that an answer earns: see `maxTokens`. Default 0.1. */
  readonly tokenRatio?: number;
  /** Returns a number from 0 to 1, for the jitter. Default: `Math.random`. */
  readonly random?: () => number;
}

/** Trailer of an error: milliseconds after which the call may be made again, or, where that is no number from 0 on, that it may not. */
const PUSH_BACK = "retry-after-ms";

/**
 * An interceptor for callers that makes calls again where that is safe:
 * - any call that no handler was entered for (`error.refused`);
 * - calls of methods that are `idempotent` or `once` and failed with one of `codes`. A call that is `once` keeps its key.
 *
 * A stream is retried until its first item; a call whose caller streams never is. Delays grow exponentially with full jitter,
 * unless the error's trailer `retry-after-ms` says when, and end with the deadline. `onResponseMetadata` and `onTrailers` are
 * called for each attempt.
 */
export function retry(options: RetryOptions = {}): Interceptor {
  const { maxAttempts = 4, codes = ["unavailable"] } = options;
  const budget = new RetryBudget(options);
  const mayRetry = ({ method, signal }: InterceptedCall, error: RpcError, attempt: number): boolean => {
    const repeatable = method.idempotent || method.once !== undefined;
    if (!error.refused && !(repeatable && codes.includes(error.code))) return false;
    return budget.spend() && attempt < maxAttempts && !(signal?.aborted ?? false);
  };
  const attempt = async <T>(call: InterceptedCall, once: () => Promise<T>): Promise<T> => {
    for (let count = 1, backoffs = 1; ; count++, backoffs++) {
      try {
        const result = await once();
        budget.earn();
        return result;
      } catch (thrown) {
        const error = RpcError.from(thrown);
        const pushBack = pushBackOf(error);
        if (!mayRetry(call, error, count) || pushBack === "never") throw thrown;
        const delay = pushBack ?? delayOf(options, backoffs);
        if (call.deadline !== undefined && Date.now() + delay >= call.deadline) throw thrown;
        // The backoff begins anew after a delay that the callee has chosen.
        if (pushBack !== undefined) backoffs = 0;
        if (call.method.once !== undefined && !error.refused) noteRepeated(call.metadata);
        await sleep(delay, call.signal);
      }
    }
  };
  return (call, next) => {
    if (call.inputs !== undefined) return next(call);
    return attempt(call, async () => withFirstItem(await next(call)));
  };
}

/** Returns the delay in milliseconds that the callee asks for; undefined where it asks for none. */
function pushBackOf({ metadata }: RpcError): number | "never" | undefined {
  const text = metadata.get(PUSH_BACK);
  if (text === undefined) return undefined;
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : "never";
}

function delayOf(
  { initialDelayMs = 50, maxDelayMs = 5000, factor = 2, random = Math.random }: RetryOptions,
  n: number,
): number {
  return random() * Math.min(maxDelayMs, initialDelayMs * factor ** (n - 1));
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
