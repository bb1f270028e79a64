import { type AnyAnswer, BaseCaller, type Resumption } from "../call/base-caller.js";
import type { Caller } from "../call/caller.js";
import type { ItemStream } from "../call/items/item-stream.js";
import { CallPlaces } from "../call/call-places.js";
import type { CallOptions } from "../call/options.js";
import { payloadSize } from "../call/messages/payload.js";
import { type Calling, failedCall } from "../client/calling.js";
import type { LateCall } from "../client/late-call.js";
import { itemsLater } from "../client/late-items.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { hintOf, RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import type { Session } from "../session/session.js";
import { isDenied, isEndOfSession, isRejectedEarly } from "../transport/close-codes.js";
import { Moves } from "./moves.js";
import { remaining, WaitingCalls } from "./waiting-calls.js";

/** A call that a peer has refused more often than this, because it had too many calls or no memory for it, fails. */
const MOST_REFUSALS = 8;

/**
 * Makes each call on an available session; without one, calls wait. A call that may have reached a handler is never
 * repeated. A call that reached none is repeated: if a unary call, or one with a streamed response, was refused by a
 * session that is ending, it waits for the next session, as often and as long as it may wait; if an overloaded peer
 * refused it, it is made once more on another session; if the peer has too many calls, it waits until one of them is
 * over.
 */
export abstract class SessionCaller<C extends Caller> extends BaseCaller {
  protected readonly waiting: WaitingCalls<C>;
  /** Made with the first stream that may move. */
  #moves: Moves<C> | undefined = undefined;
  /** Callbacks that end the streams that have lost their session and wait to be resumed. */
  #suspended: Set<(error: RpcError) => void> | undefined = undefined;
  readonly #limits: ClientLimits;
  readonly #onPlace: () => void = () => this.#startNext();
  /** The name of the peer, or of all that may be it, in errors. */
  protected peer: string | undefined;

  constructor(limits: ClientLimits, peer?: string) {
    super();
    this.peer = peer;
    this.#limits = limits;
    this.waiting = new WaitingCalls(limits);
  }

  /** Returns the session for a call; undefined if there is none. */
  protected abstract pick(method: AnyMethod, input: unknown, options: CallOptions | undefined): C | undefined;
  /** Whether there is a session for the next call. */
  protected abstract readonly takesCalls: boolean;
  /** Returns true if a call that one session refused may be made on another while the first is still open. */
  protected abstract mayRepeat(): boolean;

  /** True if calls wait for different sessions. */
  protected get picksDiffer(): boolean {
    return false;
  }
  /** The reason why there is no session, if known. */
  protected abstract why(): Error | undefined;
  /** The session behind what takes the calls. */
  protected abstract sessionOf(session: C): Session;
  /** Whether there may be another session after one that was lost. */
  protected abstract readonly heals: boolean;
  /** Whether all sessions are to one process, as far as this side knows. */
  protected abstract readonly isOneProcess: boolean;
  /** Called with the number of streams that wait to be resumed. */
  protected abstract onSuspended(count: number): void;
  /** Time until which a server that drains may run, in milliseconds since the epoch: `limits.maxQueuedMs` counts from there. */
  protected abstract readonly drainsUntil: number;
  /** A call is about to wait. Throws `RpcError` when there is nothing to wait for. */
  protected abstract beforeWait(): void;

  override get resumption(): Resumption | undefined {
    if (!this.heals) return undefined;
    const owner = this.isOneProcess ? this : undefined;
    return { owner, peer: this.peer, forMs: this.#limits.maxResumeMs, suspend: (fail) => this.#suspend(fail) };
  }

  begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): AnyAnswer {
    switch (method.kind) {
      case "unary":
        return this.#unaryCall(method, input, options);
      case "server_stream":
        return this.#streamCall(method, input, options);
      default:
        return this.#nowOrLater(method, input, options, (session, own) => session.start(method, input, own));
    }
  }

  /**
   * Whether the peer of a session takes one more call now. If it does not, calls that wait are started when one is over. A call that is not to
   * wait is made all the same: the peer decides.
   */
  protected hasPlace(session: Session, options: CallOptions | undefined): boolean {
    const places = session.places ?? placesOf(session);
    if (places === undefined || places.take() || options?.waitForReady === false) return true;
    places.whenFree(this.#onPlace);
    return false;
  }

  /** A place may be free. */
  #startNext(): void {
    if (this.waiting.size === 0) return;
    this.waiting.progressed();
    this.waiting.startAll(this.picksDiffer);
  }

  /** Returns the session for a call, or the error that `pick` threw. */
  #picked(method: AnyMethod, input: unknown, options: CallOptions | undefined): C | RpcError | undefined {
    try {
      return this.pick(method, input, options);
    } catch (error) {
      return RpcError.from(error, "internal");
    }
  }

  #unaryCall(method: AnyMethod<"unary">, input: unknown, options: CallOptions | undefined): Promise<unknown> {
    const session = this.#picked(method, input, options);
    if (session instanceof RpcError) return failedCall(method, this.peer, input, session) as Promise<unknown>;
    if (session !== undefined) return this.#unaryOn(session, method, input, options);
    return this.#unaryLater(method, input, options, new Refusals());
  }

  /** Makes a unary call on a session, and again if it is refused. Keeps little state for each call until its answer. */
  #unaryOn(
    session: C,
    method: AnyMethod<"unary">,
    input: unknown,
    options: CallOptions | undefined,
    before?: Refusals,
  ): Promise<unknown> {
    const since = startOf(options);
    return session.start(method, input, options).catch((error: unknown) => {
      const refusals = before ?? new Refusals();
      const other = this.#afterRefusal(error, session, method, input, options, refusals);
      const left = remaining(options, options?.timeoutMs, since);
      if (other !== undefined) return this.#unaryOn(other, method, input, left, refusals);
      return this.#unaryLater(method, input, left, refusals);
    });
  }

  #unaryLater(
    method: AnyMethod<"unary">,
    input: unknown,
    options: CallOptions | undefined,
    refusals: Refusals,
  ): Promise<unknown> {
    const send: Send<C, Promise<unknown>> = (session, own) => this.#unaryOn(session, method, input, own, refusals);
    return this.#later(method, input, options, send, refusals);
  }

  #streamCall(
    method: AnyMethod<"server_stream">,
    input: unknown,
    options: CallOptions | undefined,
  ): ItemStream<unknown> {
    const refusals = new Refusals();
    /** The stream that the caller reads; items from later sessions are fed into it. */
    const given: { stream?: ItemStream<unknown> } = {};
    const send = (session: C, own: CallOptions | undefined): ItemStream<unknown> => {
      const since = startOf(own);
      const stream = session.start(method, input, own);
      if (own?.attempt !== undefined) {
        this.#moves ??= new Moves(() => this.takesCalls);
        this.#moves.made(session, this.sessionOf(session).draining, own.attempt);
      }
      (given.stream ?? stream).orElse((error, resume) => {
        let next: C | undefined;
        try {
          next = this.#afterRefusal(error, session, method, input, options, refusals);
        } catch {
          return false;
        }
        const left = remaining(own, own?.timeoutMs, since);
        const queue = this.#queueOf(method, input, left, send, refusals, next);
        itemsLater({ method, peer: this.peer, queue }, resume);
        return true;
      });
      return stream;
    };
    given.stream = this.#nowOrLater(method, input, options, send, refusals);
    return given.stream;
  }

  /** Sessions may be there again. */
  protected startWaiting(): void {
    if (this.waiting.size > 0) this.waiting.startAll(this.picksDiffer);
    this.#moves?.start();
  }

  /** Fails the calls that wait for a session, if there are any, with the error that `why` makes. */
  protected failWaiting(why: () => RpcError): void {
    const suspended = this.#suspended;
    if (this.waiting.size === 0 && suspended === undefined) return;
    const error = why();
    this.waiting.failAll(error);
    if (!this.heals) suspended?.forEach((fail) => fail(error));
  }

  #suspend(fail: (error: RpcError) => void): () => void {
    const own = (error: RpcError): void => fail(error);
    const suspended = (this.#suspended ??= new Set());
    suspended.add(own);
    this.onSuspended(suspended.size);
    return () => {
      if (suspended.delete(own)) this.onSuspended(suspended.size);
    };
  }

  #nowOrLater<Result>(
    method: AnyMethod,
    input: unknown,
    options: CallOptions | undefined,
    send: Send<C, Result>,
    refusals?: Refusals,
  ): Result {
    const session = this.#picked(method, input, options);
    if (session instanceof RpcError) return failedCall(method, this.peer, input, session) as Result;
    return session === undefined ? this.#later(method, input, options, send, refusals) : send(session, options);
  }

  /** Returns the answer of a call that waits for a session. */
  #later<Result>(
    method: AnyMethod,
    input: unknown,
    options: CallOptions | undefined,
    send: Send<C, Result>,
    refusals?: Refusals,
  ): Result {
    const queue = this.#queueOf(method, input, options, send, refusals, undefined);
    const calling = method.calling as Calling;
    return calling.startLate({ method, peer: this.peer, queue }, input) as Result;
  }

  /** Makes a call on `next`, or queues it until there is a session. Returns a function that cancels it. */
  #queueOf<Result>(
    method: AnyMethod,
    input: unknown,
    options: CallOptions | undefined,
    send: Send<C, Result>,
    refusals: Refusals | undefined,
    next: C | undefined,
  ): LateCall["queue"] {
    return (call) => {
      const start = (session: C, own: CallOptions | undefined): void => call.start(() => send(session, own));
      if (next === undefined)
        return this.#wait(method, input, options, { start, fail: (error) => call.fail(error) }, refusals);
      start(next, options);
      return () => {};
    };
  }

  /** Queues a call; returns what takes it back. Its failure is never thrown. */
  #wait(
    method: AnyMethod,
    input: unknown,
    options: CallOptions | undefined,
    call: { start(session: C, options: CallOptions | undefined): void; fail(error: RpcError): void },
    refusals: Refusals = new Refusals(),
  ): () => void {
    try {
      if (options?.waitForReady === false) throw notReady(this.why());
      this.beforeWait();
      const takesInput = method.kind === "client_stream" || method.kind === "duplex";
      const bytes =
        takesInput || method.blobs !== undefined ? 0 : payloadSize(method.input, input, this.#limits.maxFrameBytes);
      refusals.waitingSince ??= Date.now();
      // A server announces how long it drains, but does not decide how long this side waits.
      const drainsUntil = Math.min(this.drainsUntil, Date.now() + this.#limits.maxDrainMs);
      const waitingSince = Math.max(refusals.waitingSince, drainsUntil);
      const pick = (): C | undefined => this.pick(method, input, options);
      const why = (): Error | undefined =>
        this.takesCalls ? (refusals.last ?? fullError()) : (this.why() ?? refusals.last);
      return this.waiting.add({ ...call, pick, bytes, options, waitingSince }, why);
    } catch (error) {
      call.fail(RpcError.from(error, "invalid_argument"));
      return () => {};
    }
  }

  /** The session for a call that was refused on another, or undefined: it waits for one. Throws what ends it. */
  #afterRefusal(
    error: unknown,
    session: C,
    method: AnyMethod,
    input: unknown,
    options: CallOptions | undefined,
    refusals: Refusals,
  ): C | undefined {
    if (!neverRan(error) || options?.waitForReady === false) throw error;
    refusals.last = error;
    if (error.code === "resource_exhausted") {
      if (++refusals.full > MOST_REFUSALS) throw error;
      placesOf(this.sessionOf(session))?.onRefused(this.#onPlace);
      const next = this.pick(method, input, options);
      // Without a budget for repeats elsewhere the call waits.
      return next === session || this.mayRepeat() ? next : undefined;
    }
    const next = this.pick(method, input, options);
    if (isRejectedEarly(error)) return next;
    // The connection may not know yet that the session accepts no more calls.
    if (isEndOfSession(error)) return next === session ? undefined : next;
    // A peer that has too much to do may not be alone, but it is not asked again.
    if (next === session || refusals.elsewhere || !this.mayRepeat()) throw error;
    refusals.elsewhere = true;
    return next;
  }
}

/** Counts the calls that the peer of a session takes; undefined for a session that cannot tell how many are in progress. */
function placesOf(session: Session): CallPlaces | undefined {
  if (session.places === undefined && session.callsMade !== undefined) {
    session.places = new CallPlaces({ callsMade: () => session.callsMade?.() ?? 0 }, session.peerCalls);
  }
  return session.places;
}

/** Why a call waits although there is a session. */
function fullError(): RpcError {
  return new RpcError("resource_exhausted", "the server's limit of concurrent calls is reached (its limits.maxCalls)");
}

/** Makes a call on a session. */
type Send<C, Result> = (session: C, options: CallOptions | undefined) => Result;

/** Counts the refusals of one call. */
class Refusals {
  /** Milliseconds since the epoch; undefined for a call that has not waited. */
  waitingSince: number | undefined = undefined;
  last: RpcError | undefined = undefined;
  /** The call was already repeated on another session while its first session was open. */
  elsewhere = false;
  /** How often a peer refused it because it had too many calls. */
  full = 0;
}

/** The error of a call that does not wait. */
export function notReady(cause: Error | undefined): RpcError {
  const because = cause === undefined ? "" : `: ${cause.message}`;
  const code = cause !== undefined && isDenied(cause) ? cause.code : "unavailable";
  return new RpcError(code, `there is no session${because}`, { refused: true, cause, hint: hintOf(cause) });
}

/** Returns the error for a call after which no sessions are made any more. */
export function closedError(cause: Error | undefined): RpcError {
  const because = cause === undefined ? "" : `: ${cause.message}`;
  return new RpcError("unavailable", `the connection makes no more calls${because}`, {
    refused: true,
    cause,
    hint: hintOf(cause) ?? "make calls before `close()`, or make another connection",
  });
}

function neverRan(error: unknown): error is RpcError {
  if (!(error instanceof RpcError) || !error.refused) return false;
  return error.code === "unavailable" || error.code === "resource_exhausted";
}

/** Returns the start time for `remaining`. Reads the clock only if the call has a timeout. */
function startOf(options: CallOptions | undefined): number {
  return options?.timeoutMs === undefined ? 0 : Date.now();
}
