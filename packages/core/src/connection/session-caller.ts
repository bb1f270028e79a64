import type { Caller, DuplexStream } from "../call/caller.js";
import type { StreamSource } from "../call/item-source.js";
import type { ItemStream } from "../call/item-stream.js";
import type { CallOptions } from "../call/options.js";
import { payloadSize } from "../call/payload.js";
import { callingOf } from "../client/calling.js";
import type { AnyMethod, MethodDescriptor } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import { isRejectedEarly } from "../transport/close-codes.js";
import { type LateCall, lateCall } from "./late-call.js";
import { WaitingCalls } from "./waiting-calls.js";

/**
 * Makes each call on the session that is there for it; while there is none, calls wait. A call that may have reached a
 * handler is never made again. A unary call that was refused by a session that went away is, once, since no handler saw it.
 */
export abstract class SessionCaller<C extends Caller> implements Caller {
  protected readonly waiting: WaitingCalls<C>;
  private readonly limits: Limits;

  constructor(limits: Limits) {
    this.limits = limits;
    this.waiting = new WaitingCalls(limits);
  }

  /** The session for the next call; undefined while there is none. */
  protected abstract pick(): C | undefined;
  /** Why there is no session, as far as that is known. */
  protected abstract why(): Error | undefined;
  /** A call is about to wait. Throws `RpcError` when there is nothing to wait for. */
  protected abstract beforeWait(): void;

  unary<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"unary", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): Promise<Result> {
    const send = (session: C, own: CallOptions | undefined): Promise<Result> => session.unary(method, input, own);
    const session = this.pick();
    if (session === undefined) return this.later(method, input, options, send);
    const since = options?.timeoutMs === undefined ? 0 : Date.now();
    const again = (error: unknown): Promise<Result> => {
      const next = this.pick();
      if (!neverRan(error) || options?.waitForReady === false) throw error;
      // Made again on the session that refused it, a call would be refused again, but for one that was too early.
      if (next === session && !isRejectedEarly(error)) throw error;
      const left = options?.timeoutMs === undefined ? options : shortened(options, options.timeoutMs, since);
      return next === undefined ? this.later(method, input, left, send) : send(next, left);
    };
    return send(session, options).catch(again);
  }

  notify<Sent, Received>(
    method: MethodDescriptor<"notify", Sent, Received, void, void>,
    input: Sent,
    options?: CallOptions,
  ): Promise<void> {
    const send = (session: C, own: CallOptions | undefined): Promise<void> => session.notify(method, input, own);
    return this.nowOrLater(method, input, options, send);
  }

  serverStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"server_stream", Sent, Received, Returned, Result>,
    input: Sent,
    options?: CallOptions,
  ): ItemStream<Result> {
    return this.nowOrLater(method, input, options, (session, own) => session.serverStream(method, input, own));
  }

  clientStream<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"client_stream", Sent, Received, Returned, Result>,
    source: StreamSource<Sent>,
    options?: CallOptions,
  ): Promise<Result> {
    return this.nowOrLater(method, source, options, (session, own) => session.clientStream(method, source, own));
  }

  duplex<Sent, Received, Returned, Result>(
    method: MethodDescriptor<"duplex", Sent, Received, Returned, Result>,
    options?: CallOptions,
  ): DuplexStream<Sent, Result> {
    return this.nowOrLater(method, undefined, options, (session, own) => session.duplex(method, own));
  }

  /** Sessions may be there again. */
  protected startWaiting(): void {
    if (this.waiting.size > 0) this.waiting.startAll(() => this.pick());
  }

  private nowOrLater<Result>(
    method: AnyMethod,
    input: unknown,
    options: CallOptions | undefined,
    send: (session: C, options: CallOptions | undefined) => Result,
  ): Result {
    const session = this.pick();
    return session === undefined ? this.later(method, input, options, send) : send(session, options);
  }

  /** What a call returns that waits. */
  private later<Result>(
    method: AnyMethod,
    input: unknown,
    options: CallOptions | undefined,
    send: (session: C, options: CallOptions | undefined) => Result,
  ): Result {
    const queue = (call: LateCall): (() => void) =>
      this.wait(method, input, options, {
        start: (session, own) => call.start(() => send(session, own)),
        fail: (error) => call.fail(error),
      });
    return callingOf(method).start(lateCall(queue), input) as Result;
  }

  /** Queues a call; returns what takes it back. Its failure is never thrown. */
  private wait(
    method: AnyMethod,
    input: unknown,
    options: CallOptions | undefined,
    call: { start(session: C, options: CallOptions | undefined): void; fail(error: RpcError): void },
  ): () => void {
    try {
      if (options?.waitForReady === false) throw notReady(this.why());
      this.beforeWait();
      const takesInput = method.kind === "client_stream" || method.kind === "duplex";
      const bytes = takesInput ? 0 : payloadSize(method.input, input, this.limits.maxFrameBytes);
      return this.waiting.add({ ...call, bytes, options }, () => this.why());
    } catch (error) {
      call.fail(RpcError.from(error, "invalid_argument"));
      return () => {};
    }
  }
}

/** The error of a call that does not wait. */
export function notReady(cause: Error | undefined): RpcError {
  const because = cause === undefined ? "" : `: ${cause.message}`;
  return new RpcError("unavailable", `there is no session${because}`, { refused: true, cause });
}

/** The error of a call once nothing makes sessions any more. */
export function closedError(cause: Error | undefined): RpcError {
  const because = cause === undefined ? "" : `: ${cause.message}`;
  return new RpcError("unavailable", `the connection makes no more calls${because}`, { refused: true, cause });
}

function neverRan(error: unknown): error is RpcError {
  return error instanceof RpcError && error.code === "unavailable" && error.refused;
}

function shortened(options: CallOptions, timeoutMs: number, since: number): CallOptions {
  return { ...options, timeoutMs: timeoutMs - (Date.now() - since) };
}
