import { expiries } from "../call/expiries.js";
import { type CallOptions, throwIfAborted, timeoutOf } from "../call/options.js";
import { watch } from "../call/watch.js";
import { hintOf, RpcError, type RpcErrorOptions } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";

/** A call that has not been sent. Exactly one of `start` and `fail` is called, once, unless it is taken back. */
export interface WaitingCall<C> {
  /** Bytes of its input. */
  readonly bytes: number;
  readonly options: CallOptions | undefined;
  /**
   * Start of the wait, in milliseconds since the epoch: the time of the first wait, or the end of the server's drain if
   * that is later.
   */
  readonly waitingSince: number;
  /** Returns the session on which the call can be made now. If it throws, the call fails with that error. */
  pick(): C | undefined;
  /** `options` with the time that is left. */
  start(session: C, options: CallOptions | undefined): void;
  fail(error: RpcError): void;
}

/** Bytes that a call counts that waits, in addition to its input. */
const CALL_BYTES = 512;

/** A call in the queue. */
interface Entry<C> {
  readonly pick: () => C | undefined;
  readonly start: (session: C) => void;
  readonly fail: (error: RpcError) => void;
}

/** Calls that wait for a session that takes them, in order and within bounds. */
export class WaitingCalls<C> {
  readonly #limits: ClientLimits;
  /** Made with the first. */
  #calls: Set<Entry<C>> | undefined = undefined;
  #bytes = 0;
  /** When a call was last over that others wait for, in milliseconds since the epoch. */
  #progressedAt = 0;

  constructor(limits: ClientLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#calls?.size ?? 0;
  }

  /** Adds a call. Returns a function that removes it. `why` returns the current problem, for the error of a call that waits too long. */
  add(call: WaitingCall<C>, why: () => Error | undefined): () => void {
    const { maxQueuedBytes, maxQueuedMs } = this.#limits;
    const bytes = CALL_BYTES + call.bytes;
    let timeoutMs: number | undefined;
    try {
      timeoutMs = timeoutOf(call.options, this.#limits);
      throwIfAborted(call.options);
      if (this.#bytes + bytes > maxQueuedBytes) throw overfull(this.size, maxQueuedBytes);
    } catch (error) {
      call.fail(RpcError.from(error, "internal"));
      return () => {};
    }
    const since = Date.now();
    const mayWait = Math.max(maxQueuedMs - (since - call.waitingSince), 0);
    const patience = timeoutMs !== undefined && timeoutMs <= mayWait ? timeoutMs : mayWait;
    const calls = (this.#calls ??= new Set());
    const leave = (): void => {
      if (!calls.delete(entry)) return;
      this.#bytes -= bytes;
      unwatch?.();
    };
    const entry: Entry<C> = {
      pick: () => call.pick(),
      start: (session: C): void => {
        leave();
        call.start(session, remaining(call.options, timeoutMs, since));
      },
      fail: (error: RpcError): void => {
        leave();
        call.fail(error);
      },
    };
    calls.add(entry);
    this.#bytes += bytes;
    const isDeadline = patience === timeoutMs;
    const drained = call.waitingSince > since;
    let unwatch: (() => void) | undefined;
    const waitFor = (ms: number): void => {
      unwatch = watch(call.options, ms, { giveUp }, expiries);
    };
    const giveUp = (error: RpcError): void => {
      if (error.code !== "deadline_exceeded") {
        entry.fail(error);
        return;
      }
      const now = Date.now();
      const left = timeoutMs === undefined ? Number.POSITIVE_INFINITY : timeoutMs - (now - since);
      const more = Math.min(maxQueuedMs - (now - this.#progressedAt), left);
      if (!isDeadline && more > 0) waitFor(more);
      else if (isDeadline || left <= 0) entry.fail(lateError(timeoutMs, why()));
      else entry.fail(patienceError(maxQueuedMs, drained, why()));
    };
    waitFor(patience);
    return leave;
  }

  /** Called when a call has ended for which others wait: each of them may wait for `maxQueuedMs` again. */
  progressed(): void {
    this.#progressedAt = Date.now();
  }

  /**
   * Starts calls in order, until there is no session for the next one.
   * @param picksDiffer true if later calls may still have a session, as with targets by key
   */
  startAll(picksDiffer: boolean): void {
    for (const call of this.#calls ?? []) {
      let session: C | undefined;
      try {
        session = call.pick();
      } catch (error) {
        call.fail(RpcError.from(error, "internal"));
        continue;
      }
      if (session !== undefined) call.start(session);
      else if (!picksDiffer) return;
    }
  }

  failAll(error: RpcError): void {
    this.#calls?.forEach((call) => call.fail(error));
  }
}

/** Returns the options of a delayed call, with the remaining part of its timeout. */
export function remaining(options: CallOptions | undefined, timeoutMs: number | undefined, since: number): CallOptions {
  if (timeoutMs === undefined) return options ?? {};
  return { ...options, timeoutMs: timeoutMs - (Date.now() - since) };
}

function overfull(calls: number, maxQueuedBytes: number): RpcError {
  const hint =
    "raise `limits.maxQueuedBytes` of this side, make fewer calls at once, or have them fail instead: `waitForReady: false`";
  const text = `${calls} calls wait already: limits.maxQueuedBytes is ${maxQueuedBytes}`;
  return new RpcError("resource_exhausted", text, { refused: true, hint });
}

/** Describes what a waiting call is waiting for, because of `cause`. */
function unmet(cause: Error | undefined): string {
  return isFull(cause) ? "the server did not take the call" : "no session";
}

function lateError(timeoutMs: number | undefined, cause: Error | undefined): RpcError {
  const text = `${unmet(cause)} within ${timeoutMs} ms${because(cause)}`;
  return new RpcError("deadline_exceeded", text, refusedBy(cause));
}

function patienceError(maxQueuedMs: number, drained: boolean, cause: Error | undefined): RpcError {
  const after = drained ? " after the end of the server's drain" : "";
  const text = `${unmet(cause)} within limits.maxQueuedMs (${maxQueuedMs} ms)${after}${because(cause)}`;
  return new RpcError(isFull(cause) ? "resource_exhausted" : "unavailable", text, refusedBy(cause));
}

/** Whether a call waits because the server has too many. */
function isFull(cause: Error | undefined): boolean {
  return cause instanceof RpcError && cause.code === "resource_exhausted";
}

function because(cause: Error | undefined): string {
  return cause === undefined ? "" : `: ${cause.message}`;
}

function refusedBy(cause: Error | undefined): RpcErrorOptions {
  return { refused: true, cause, hint: hintOf(cause) };
}
