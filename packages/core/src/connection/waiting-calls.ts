import { expiries } from "../call/expiries.js";
import { type CallOptions, throwIfAborted, timeoutOf } from "../call/options.js";
import { watch } from "../call/watch.js";
import { hintOf, RpcError, type RpcErrorOptions } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";

/** A call that waits for a session. Unless it is removed from the queue, either `start` or `fail` is called, once. */
export interface WaitingCall<C> {
  /** Size of the call's encoded input in bytes. */
  readonly bytes: number;
  readonly options: CallOptions | undefined;
  /**
   * Time from which `limits.maxQueuedMs` counts, in milliseconds since the Unix epoch: when the call first had to wait,
   * or when the server's drain ends if that is later.
   */
  readonly waitingSince: number;
  /** Returns a session that accepts the call now, or undefined. If it throws, the call fails with that error. */
  pick(): C | undefined;
  /** Starts the call on `session`. The `timeoutMs` of `options` is the time that is left. */
  start(session: C, options: CallOptions | undefined): void;
  fail(error: RpcError): void;
}

/** Number of bytes charged for a queued call in addition to its input. */
const CALL_BYTES = 512;

interface Entry<C> {
  readonly pick: () => C | undefined;
  readonly start: (session: C) => void;
  readonly fail: (error: RpcError) => void;
}

/**
 * A queue of calls that wait for a session. `limits.maxQueuedBytes` limits its size, `limits.maxQueuedMs` the waiting
 * time.
 */
export class WaitingCalls<C> {
  readonly #limits: ClientLimits;
  #calls: Set<Entry<C>> | undefined = undefined;
  #bytes = 0;
  /** Time at which a call that others wait for last ended, in milliseconds since the Unix epoch. */
  #progressedAt = 0;

  constructor(limits: ClientLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#calls?.size ?? 0;
  }

  /**
   * Adds a call, and returns a function that removes it. If the call waits too long, it fails with an error whose cause
   * `lastError` returns.
   */
  add(call: WaitingCall<C>, lastError: () => Error | undefined): () => void {
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
    const queuedAt = Date.now();
    const mayWait = Math.max(maxQueuedMs - (queuedAt - call.waitingSince), 0);
    const maxWaitMs = timeoutMs !== undefined && timeoutMs <= mayWait ? timeoutMs : mayWait;
    const calls = (this.#calls ??= new Set());
    const removeEntry = (): void => {
      if (!calls.delete(entry)) return;
      this.#bytes -= bytes;
      unwatch?.();
    };
    const entry: Entry<C> = {
      pick: () => call.pick(),
      start: (session: C): void => {
        removeEntry();
        call.start(session, remaining(call.options, timeoutMs, queuedAt));
      },
      fail: (error: RpcError): void => {
        removeEntry();
        call.fail(error);
      },
    };
    calls.add(entry);
    this.#bytes += bytes;
    const isDeadline = maxWaitMs === timeoutMs;
    const drained = call.waitingSince > queuedAt;
    let unwatch: (() => void) | undefined;
    const waitFor = (ms: number): void => {
      unwatch = watch(call.options, ms, { cancel }, expiries);
    };
    const cancel = (error: RpcError): void => {
      if (error.code !== "deadline_exceeded") {
        entry.fail(error);
        return;
      }
      const now = Date.now();
      const remainingMs = timeoutMs === undefined ? Number.POSITIVE_INFINITY : timeoutMs - (now - queuedAt);
      const more = Math.min(maxQueuedMs - (now - this.#progressedAt), remainingMs);
      if (!isDeadline && more > 0) waitFor(more);
      else if (isDeadline || remainingMs <= 0) entry.fail(lateError(timeoutMs, lastError()));
      else entry.fail(patienceError(maxQueuedMs, drained, lastError()));
    };
    waitFor(maxWaitMs);
    return removeEntry;
  }

  /** Called when a call that others wait for has ended. Each waiting call may then wait for `maxQueuedMs` again. */
  progressed(): void {
    this.#progressedAt = Date.now();
  }

  /**
   * Starts the waiting calls in order, until there is no session for the next one.
   *
   * @param picksDiffer true if later calls may have another session, so that all calls must be tried
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

/** Returns the options of a call that was delayed since the time `startedAt`, with the remaining part of `timeoutMs`. */
export function remaining(
  options: CallOptions | undefined,
  timeoutMs: number | undefined,
  startedAt: number,
): CallOptions {
  if (timeoutMs === undefined) return options ?? {};
  return { ...options, timeoutMs: timeoutMs - (Date.now() - startedAt) };
}

function overfull(calls: number, maxQueuedBytes: number): RpcError {
  const hint =
    "raise `limits.maxQueuedBytes` of this side, make fewer calls at once, or have them fail instead: `waitForReady: false`";
  const text = `${calls} calls wait already: limits.maxQueuedBytes is ${maxQueuedBytes}`;
  return new RpcError("resource_exhausted", text, { refused: true, hint });
}

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

/** Returns true if a call waits because the server has too many calls. */
function isFull(cause: Error | undefined): boolean {
  return cause instanceof RpcError && cause.code === "resource_exhausted";
}

function because(cause: Error | undefined): string {
  return cause === undefined ? "" : `: ${cause.message}`;
}

function refusedBy(cause: Error | undefined): RpcErrorOptions {
  return { refused: true, cause, hint: hintOf(cause) };
}
