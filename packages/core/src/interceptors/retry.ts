import { sleep } from "../call/watch.js";
import { type Code, RpcError } from "../errors.js";
import type { InterceptedResponse, InterceptedCall, Interceptor } from "./interceptor.js";
import { withResponseMessages } from "./observed.js";

interface RetryBudgetOptions {
  /** Initial and maximum number of tokens. Default 10. */
  readonly maxTokens?: number | undefined;
  /** Number of tokens that a successful call adds. Default 0.1. */
  readonly tokenRatio?: number | undefined;
}

/**
 * A number of tokens that limits retries, so that they do not make an outage worse (gRPC's retry throttling). All calls
 * to a service share it. A failure that could be retried takes one token, and a success adds a part of one. Calls are
 * retried only while more than half of the tokens are left.
 */
export class RetryBudget {
  private readonly maxTokens: number;
  private readonly tokenRatio: number;
  private tokens: number;

  constructor({ maxTokens = 10, tokenRatio = 0.1 }: RetryBudgetOptions = {}) {
    this.maxTokens = maxTokens;
    this.tokenRatio = tokenRatio;
    this.tokens = maxTokens;
  }

  earn(): void {
    this.tokens = Math.min(this.maxTokens, this.tokens + this.tokenRatio);
  }

  /** Takes a token for a failure that could be retried. Returns true if the call may be retried. */
  spend(): boolean {
    this.tokens = Math.max(0, this.tokens - 1);
    return this.tokens > this.maxTokens / 2;
  }
}

interface RetryOptions {
  /** Maximum number of attempts of a call, including the first. Default 4. */
  readonly maxAttempts?: number;
  /**
   * Upper bound of the random delay before the first retry, in milliseconds. Each further bound is `factor` times as
   * large. Default 50.
   */
  readonly initialDelayMs?: number;
  /** Maximum delay between two attempts, in milliseconds. Default 5,000. */
  readonly maxDelayMs?: number;
  /** Factor by which the upper bound of the delay grows after each attempt. Default 2. */
  readonly factor?: number;
  /** Error codes after which a call of an `idempotent` or `once` method is repeated. Default: `unavailable`. */
  readonly codes?: readonly Code[];
  /**
   * Maximum number of tokens that limit the retries of all calls of this interceptor (gRPC's retry throttling). A
   * failure that could be retried takes one token, and a success adds `tokenRatio`. Calls are retried only while more
   * than half of the tokens are left, so that retries do not make an outage worse. Default 10.
   */
  readonly maxTokens?: number;
  /** Number of tokens that a successful call adds; see `maxTokens`. Default 0.1. */
  readonly tokenRatio?: number;
  /** Returns a random number from 0 to 1, for the delays. Default: `Math.random`. */
  readonly random?: () => number;
}

/**
 * Name of an error's trailer: the number of milliseconds after which the call may be repeated. Any other value forbids
 * a retry.
 */
const PUSH_BACK = "retry-after-ms";

/**
 * Returns an interceptor for callers that repeats failed calls if this is safe:
 * - any call that reached no handler (`error.refused`);
 * - calls of `idempotent` or `once` methods that failed with one of `codes`. A `once` call keeps its key.
 *
 * A call with a streamed response is repeated only before its first item. A call whose caller streams is never
 * repeated. Delays grow exponentially with full jitter, unless the error's trailer `retry-after-ms` sets the delay. No
 * retry starts after the call's deadline. `onResponseMetadata` and `onTrailers` are called for each attempt.
 */
export function retry(options: RetryOptions = {}): Interceptor {
  const { maxAttempts = 4, codes = ["unavailable"] } = options;
  const budget = new RetryBudget(options);
  const mayRetry = ({ method, signal }: InterceptedCall, error: RpcError, attempt: number): boolean => {
    const repeatable = method.idempotent || method.extension?.onRepeat !== undefined;
    if (!error.refused && !(repeatable && codes.includes(error.code))) return false;
    return budget.spend() && attempt < maxAttempts && !(signal?.aborted ?? false);
  };
  const attempt = async <T>(call: InterceptedCall, makeCall: () => Promise<T>): Promise<T> => {
    for (let count = 1, backoffs = 1; ; count++, backoffs++) {
      try {
        const result = await makeCall();
        budget.earn();
        return result;
      } catch (thrown) {
        const error = RpcError.from(thrown);
        const pushBack = pushBackOf(error);
        if (!mayRetry(call, error, count) || pushBack === "never") throw thrown;
        const delay = pushBack ?? delayOf(options, backoffs);
        if (call.deadline !== undefined && Date.now() + delay >= call.deadline) throw thrown;
        // After a delay that the callee has set, the backoff starts again.
        if (pushBack !== undefined) backoffs = 0;
        if (!error.refused) call.method.extension?.onRepeat?.(call.metadata);
        await sleep(delay, call.signal);
      }
    }
  };
  return (call, next) => {
    if (call.inputs !== undefined) return next(call);
    return attempt(call, async () => withFirstItem(await next(call)));
  };
}

/**
 * Returns the delay that the callee requests, in milliseconds; "never" if it forbids a retry; undefined if it requests
 * nothing.
 */
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

/** Waits for the first item or the end of a streamed response. Rejects if the stream fails before. */
async function withFirstItem(response: InterceptedResponse): Promise<InterceptedResponse> {
  if (response.outputs === undefined) return response;
  const iterator = response.outputs[Symbol.asyncIterator]();
  let first: IteratorResult<unknown> | undefined = await iterator.next();
  return withResponseMessages(response, {
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
