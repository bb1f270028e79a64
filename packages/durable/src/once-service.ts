import { type CallContext, RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import {
  asError,
  expiries,
  fullName,
  type IncomingContext,
  onAbort,
  type OnceOptions,
  type OnceSettings,
  type OnceState,
  type OnceStore,
  principalOf,
  sleep,
} from "@quicrpc/core/internal";
import { Lease } from "./lease.js";
import { MemoryOnceStore } from "./memory-once-store.js";
import { expired, fromTheFuture, mismatch, unknownOutcome } from "./once-failure.js";
import { createOnceKey, readOnceKey, type ReceivedOnceKey } from "./once-key.js";
import { mayBeSame, recordAnswer, recordError, replay } from "./record.js";

const DEFAULTS = { recordForMs: 24 * 60 * 60 * 1000, leaseMs: 10_000, maxRecordBytes: 256 * 1024 } as const;
/** Additional time in milliseconds for which results are stored, because the clocks of servers differ. */
const KEPT_LONGER_MS = 60_000;
/**
 * Milliseconds between two requests for the state of a call that runs in another process: initially (`FIRST_POLL_MS`)
 * and at most.
 */
const FIRST_POLL_MS = 20;
const MAX_POLL_MS = 500;
/** Key of response metadata that marks the result of an earlier call with the same key. */
const REPLAYED = "idempotent-replayed";
const UNKNOWN_PRINCIPAL =
  "could not determine the principal of the keys: give once: { principal: (context) => context.connection.userId }";

export const fingerprints: WeakMap<CallContext, string> = new WeakMap();

export type OnceHandler = (input: unknown, context: CallContext) => unknown;

interface Keyed extends ReceivedOnceKey {
  readonly id: string;
  readonly principal: string;
}

/** Runs calls of `once` methods: the handler runs at most once for each key, however often a call is repeated. */
export class OnceService {
  private static readonly services: WeakMap<OnceSettings, OnceService> = new WeakMap();
  private readonly store: OnceStore;
  private readonly options: OnceOptions<never>;
  private readonly recordForMs: number;
  private readonly leaseMs: number;
  private readonly maxRecordBytes: number;
  /** Pending results of the calls that run in this process, by id. */
  private readonly runs: Map<string, Promise<unknown>> = new Map();

  constructor({ options, since }: OnceSettings = { options: {}, since: Date.now() }) {
    this.options = options;
    this.store = options.store ?? new MemoryOnceStore({ since });
    ({
      recordForMs: this.recordForMs,
      leaseMs: this.leaseMs,
      maxRecordBytes: this.maxRecordBytes,
    } = {
      ...DEFAULTS,
      ...options,
    });
  }

  /** Returns the service for these settings. All sessions and transports with the same settings share one service. */
  static of(settings: OnceSettings): OnceService {
    let service = OnceService.services.get(settings);
    if (service === undefined) OnceService.services.set(settings, (service = new OnceService(settings)));
    return service;
  }

  async serve(
    method: AnyMethod,
    handler: OnceHandler,
    input: unknown,
    context: IncomingContext<unknown>,
  ): Promise<unknown> {
    const call = this.keyed(method, context);
    const fingerprint = fingerprints.get(context);
    // If the caller has disconnected, nothing should start.
    context.throwIfAborted();
    const owner = createOnceKey();
    const claimedAt = performance.now();
    let state = await this.claim(call, owner, fingerprint, context);
    if (state.state === "claimed") {
      if (context.hasEnded) {
        await this.release(call.id, owner);
        context.throwIfAborted();
      }
      return this.begin(call, owner, claimedAt, method, handler, input, context);
    }
    for (let delay = FIRST_POLL_MS; state.state === "running"; delay = Math.min(MAX_POLL_MS, delay * 2)) {
      if (!mayBeSame(state.fingerprint, fingerprint)) throw mismatch();
      const outcome = this.runs.get(call.id);
      if (outcome !== undefined) {
        const result = await untilAborted(outcome, context.signal);
        context.responseMetadata.set(REPLAYED, "true");
        return result;
      }
      await sleep(delay, context.signal);
      state = await this.queryStore("find", () => this.store.find(call.id), context);
      // No handler ran under the earlier claim, which was released, so this call may run.
      if (state.state === "absent") return this.serve(method, handler, input, context);
    }
    return this.known(state, call, fingerprint, method, context);
  }

  /** Returns the result of a call that is not running and must not run again. */
  private known(
    state: OnceState,
    { madeAt }: Keyed,
    fingerprint: string | undefined,
    method: AnyMethod,
    context: CallContext,
  ): unknown {
    if ((state.state === "lost" || state.state === "done") && !mayBeSame(state.fingerprint, fingerprint)) {
      throw mismatch();
    }
    if (state.state === "lost") throw unknownOutcome("the server that ran it is gone, or has not ended it in time");
    if (state.state === "forgotten") throw unknownOutcome("its key is older than what the server remembers");
    if (state.state !== "done") throw expired(Date.now() - madeAt, this.recordForMs);
    const replayed = replay(method, state.record);
    if (replayed === "unkept") {
      throw unknownOutcome(
        `it ended well, and its answer was larger than ${this.maxRecordBytes} bytes (maxRecordBytes)`,
      );
    }
    context.responseMetadata.set(REPLAYED, "true");
    return replayed.answer;
  }

  private keyed(method: AnyMethod, context: CallContext): Keyed {
    const received = readOnceKey(context.metadata);
    const ahead = received.madeAt - Date.now();
    if (ahead > this.recordForMs) throw fromTheFuture(ahead);
    const principal = principalOf(this.options.principal, context, UNKNOWN_PRINCIPAL);
    // The key has a fixed length, and the name has a single slash, so different calls have different ids.
    return { ...received, principal, id: `${received.key}/${fullName(method)}/${principal}` };
  }

  private claim(
    { id, principal, madeAt, first }: Keyed,
    owner: string,
    fingerprint: string | undefined,
    context: IncomingContext<unknown>,
  ): Promise<OnceState> {
    const { leaseMs, recordForMs } = this;
    const now = Date.now();
    const keepMs = Math.max(0, madeAt - now) + recordForMs + KEPT_LONGER_MS;
    const startable = first || now - madeAt < recordForMs;
    const claim = { principal, madeAt, first, startable, fingerprint, owner, leaseMs, keepMs };
    const claiming = this.store.claim(id, claim);
    const claimed = this.queryStore("claim", () => claiming, context);
    // If the response came too late, nothing runs under the claim.
    claimed.catch(() => claiming.then((state) => this.releaseLate(state, id, owner), nothing));
    return claimed;
  }

  private begin(
    { id, key, principal }: Keyed,
    owner: string,
    claimedAt: number,
    method: AnyMethod,
    handler: OnceHandler,
    input: unknown,
    context: IncomingContext<unknown>,
  ): Promise<unknown> {
    const lease = new Lease(this.store, id, owner, this.leaseMs, claimedAt, () => {
      context.fence(new RpcError("aborted", "the lease of the call has expired: its outcome now counts as unknown"));
    });
    context.once = { id, key, principal };
    const outcome = this.run(id, owner, method, handler, input, context).finally(() => {
      this.runs.delete(id);
      lease.end();
    });
    this.runs.set(id, outcome);
    return outcome;
  }

  private async run(
    id: string,
    owner: string,
    method: AnyMethod,
    handler: OnceHandler,
    input: unknown,
    context: IncomingContext<unknown>,
  ): Promise<unknown> {
    let result: unknown;
    try {
      result = await handler(input, context);
    } catch (error) {
      if (error instanceof RpcError && error.refused && !error.fromCall) await this.release(id, owner);
      else await this.settle(id, owner, recordError(method, callerError(error), this.maxRecordBytes), context);
      throw error;
    }
    await this.settle(id, owner, this.recordOf(method, result), context);
    return result;
  }

  private recordOf(method: AnyMethod, result: unknown): Uint8Array {
    try {
      return recordAnswer(method, result, this.maxRecordBytes);
    } catch {
      // The caller receives the same error, and the hook the reason.
      return recordError(method, callerError(undefined), this.maxRecordBytes);
    }
  }

  /**
   * Stores the result of a call before the caller receives it. Repeats failed attempts until the lease ends. Never
   * rejects, because the caller receives the result in any case.
   */
  private async settle(
    id: string,
    owner: string,
    record: Uint8Array,
    context: IncomingContext<unknown>,
  ): Promise<void> {
    const until = performance.now() + this.leaseMs;
    for (let delay = FIRST_POLL_MS; ; delay = Math.min(MAX_POLL_MS, delay * 2)) {
      try {
        const remainingMs = Math.max(1, until - performance.now());
        if (await within(this.store.settle(id, owner, record), remainingMs)) return;
        context.report(
          new Error(
            "the once store no longer has a call whose handler has ended: a repeat of it fails with an unknown outcome",
          ),
        );
        return;
      } catch (error) {
        if (performance.now() + delay < until) await sleep(delay);
        else {
          const text = "the outcome of a call could not be stored: a repeat of it fails with an unknown outcome";
          context.report(new Error(text, { cause: error }));
          return;
        }
      }
    }
  }

  private async releaseLate({ state }: OnceState, id: string, owner: string): Promise<void> {
    if (state === "claimed") await this.release(id, owner);
  }

  private async release(id: string, owner: string): Promise<void> {
    await within(this.store.release(id, owner), this.leaseMs).catch(nothing);
  }

  /**
   * Calls a method of the store. If the store fails, reports the exception and throws `unavailable`: this attempt has
   * not run the handler. An earlier attempt may have, so the caller must repeat the call with the same key.
   */
  private async queryStore(
    operation: string,
    query: () => Promise<OnceState>,
    context: IncomingContext<unknown>,
  ): Promise<OnceState> {
    try {
      return await within(query(), this.leaseMs);
    } catch (error) {
      if (error instanceof RpcError) throw error;
      context.report(new Error(`the once store failed (${operation}): ${asError(error).message}`, { cause: error }));
      throw new RpcError("unavailable", "the once store cannot be reached, so this attempt did not run the handler", {
        hint: "Repeat the call with the same key: an earlier attempt may have run.",
      });
    }
  }
}

/** Returns the error to store for the caller, which also receives it when the call is repeated. */
function callerError(error: unknown): RpcError {
  if (error instanceof RpcError && !error.fromCall) return error;
  return new RpcError("internal", "the handler failed");
}

function nothing(): void {}

async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stopWatching: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    const onAborted = (): void => reject(RpcError.from(signal.reason, "cancelled"));
    if (signal.aborted) onAborted();
    else stopWatching = onAbort(signal, onAborted);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    stopWatching?.();
  }
}

async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  let expiry: ReturnType<typeof expiries.add> | undefined;
  const timedOut = new Promise<never>((_, reject) => {
    expiry = expiries.add(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs} ms`)));
  });
  try {
    return await Promise.race([promise, timedOut]);
  } finally {
    if (expiry !== undefined) expiries.remove(expiry);
  }
}
