import type { Caller } from "../call/caller.js";
import { expiries } from "../call/expiries.js";
import { type CallOptions, throwIfAborted, timeoutOf } from "../call/options.js";
import { watch } from "../call/watch.js";
import { hintOf, RpcError, type RpcErrorOptions } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";

/** A call that has not been sent. Exactly one of `start` and `fail` is called, once, unless it is taken back. */
export interface WaitingCall<C extends Caller> {
  /** Bytes of its input. */
  readonly bytes: number;
  readonly options: CallOptions | undefined;
  /** Time from which its wait counts, in milliseconds since the epoch: its first wait, or later the end of the server's drain. */
  readonly waitingSince: number;
  /** The session that it may go to now. What it throws is the call's error. */
  pick(): C | undefined;
  /** `options` with the time that is left. */
  start(session: C, options: CallOptions | undefined): void;
  fail(error: RpcError): void;
}

/** A call in the queue. */
interface Entry<C> {
  readonly pick: () => C | undefined;
  readonly start: (session: C) => void;
  readonly fail: (error: RpcError) => void;
}

/** Calls that wait for a session, in the order they were made and within bounds. */
export class WaitingCalls<C extends Caller> {
  readonly #limits: ClientLimits;
  /** Made with the first. */
  #calls: Set<Entry<C>> | undefined = undefined;
  #bytes = 0;

  constructor(limits: ClientLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#calls?.size ?? 0;
  }

  /**
   * Adds a call; returns what takes it back. `why` says what is wrong meanwhile, for the error of a call that waits in
   * vain.
   */
  add(call: WaitingCall<C>, why: () => Error | undefined): () => void {
    const { maxQueuedCalls, maxQueuedBytes, maxQueuedMs } = this.#limits;
    let timeoutMs: number | undefined;
    try {
      timeoutMs = timeoutOf(call.options, this.#limits);
      throwIfAborted(call.options);
      if (this.size >= maxQueuedCalls) throw overfull(`limits.maxQueuedCalls is ${maxQueuedCalls}`);
      if (this.#bytes + call.bytes > maxQueuedBytes) throw overfull(`limits.maxQueuedBytes is ${maxQueuedBytes}`);
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
      this.#bytes -= call.bytes;
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
    this.#bytes += call.bytes;
    const isDeadline = patience === timeoutMs;
    const drained = call.waitingSince > since;
    const unwatch = watch(
      call.options,
      patience,
      {
        giveUp(error) {
          const inVain = error.code === "deadline_exceeded";
          entry.fail(
            inVain ? (isDeadline ? noSession(patience, why()) : stillNoSession(maxQueuedMs, drained, why())) : error,
          );
        },
      },
      expiries,
    );
    return leave;
  }

  /** Starts every call, until one of them loses the session. */
  startAll(): void {
    for (const call of this.#calls ?? []) {
      let session: C | undefined;
      try {
        session = call.pick();
      } catch (error) {
        call.fail(RpcError.from(error, "internal"));
        continue;
      }
      if (session === undefined) return;
      call.start(session);
    }
  }

  failAll(error: RpcError): void {
    this.#calls?.forEach((call) => call.fail(error));
  }
}

/** The options of a call that is made later than it might have been, with what is left of its time. */
export function remaining(options: CallOptions | undefined, timeoutMs: number | undefined, since: number): CallOptions {
  if (timeoutMs === undefined) return options ?? {};
  return { ...options, timeoutMs: timeoutMs - (Date.now() - since) };
}

function overfull(limit: string): RpcError {
  const hint = "make fewer at once, or none without a session: `waitForReady: false`";
  return new RpcError("resource_exhausted", `too many calls wait for a session: ${limit}`, { refused: true, hint });
}

function noSession(timeoutMs: number, cause: Error | undefined): RpcError {
  return new RpcError("deadline_exceeded", `no session within ${timeoutMs} ms${because(cause)}`, refusedBy(cause));
}

function stillNoSession(maxQueuedMs: number, drained: boolean, cause: Error | undefined): RpcError {
  const after = drained ? " after the end of the server's drain" : "";
  const message = `no session within limits.maxQueuedMs (${maxQueuedMs} ms)${after}${because(cause)}`;
  return new RpcError("unavailable", message, refusedBy(cause));
}

function because(cause: Error | undefined): string {
  return cause === undefined ? "" : `: ${cause.message}`;
}

function refusedBy(cause: Error | undefined): RpcErrorOptions {
  return { refused: true, cause, hint: hintOf(cause) };
}
