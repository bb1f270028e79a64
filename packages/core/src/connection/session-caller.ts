import { type AnyAnswer, BaseCaller, type Resumption } from "../call/base-caller.js";
import { CallPlaces } from "../call/call-places.js";
import type { CallOptions, Attempt } from "../call/options.js";
import { rejectionAtCaller } from "../callers-line.js";
import { payloadSize } from "../call/messages/payload.js";
import type { Calling, CallingHost } from "../client/calling.js";
import { failureOf, atEnd, type CallOwner, followAnswer, type PendingCall } from "../client/pending-call.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { hintOf, RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import type { Session } from "../session/session.js";
import { isDenied, isEndOfSession, isRejectedEarly } from "../transport/close-codes.js";
import { remaining, WaitingCalls } from "./waiting-calls.js";
import { young } from "../young.js";

/** Moves streams from sessions that drain to others, as soon as there are some. */
class Moves<C extends object> {
  readonly #canMove: () => boolean;
  readonly #bySession: WeakMap<C, Set<Attempt>> = new WeakMap();
  /** Attempts on sessions that drain. */
  #leaving: Set<Attempt> | undefined = undefined;

  /** @param canMove whether there is a session that takes calls */
  constructor(canMove: () => boolean) {
    this.#canMove = canMove;
  }

  /** An attempt was made on `session`, which `draining` says the drain of. */
  made(session: C, draining: Promise<void>, attempt: Attempt): void {
    let attempts = this.#bySession.get(session);
    if (attempts === undefined) {
      const all = new Set<Attempt>();
      attempts = all;
      this.#bySession.set(session, all);
      void draining.then(() => {
        this.#leaving ??= new Set();
        for (const each of all) this.#leaving.add(each);
        this.start();
      });
    }
    const own = attempts;
    own.add(attempt);
    attempt.onOver = young(() => {
      own.delete(attempt);
      this.#leaving?.delete(attempt);
    });
    attempt.onMade();
  }

  /** There may be another session. */
  start(): void {
    const leaving = this.#leaving;
    if (leaving === undefined) return;
    for (const attempt of leaving) {
      if (!this.#canMove()) return;
      leaving.delete(attempt);
      attempt.onLeaving();
    }
  }
}

/** A call that a peer has refused more often than this, because it had too many calls or no memory for it, fails. */
const MOST_REFUSALS = 8;

/**
 * Makes each call on an available session; without one, calls wait. A call that may have reached a handler is never
 * repeated. A call that reached none is repeated: if a unary call, or one with a streamed response, was refused by a
 * session that is ending, it waits for the next session, as often and as long as it may wait; if an overloaded peer
 * refused it, it is made once more on another session; if the peer has too many calls, it waits until one of them is
 * over.
 */
export abstract class SessionCaller<C extends object> extends BaseCaller {
  protected readonly waiting: WaitingCalls<C>;
  /** Made with the first stream that may move. */
  #moves: Moves<C> | undefined = undefined;
  /** Callbacks that end the streams that have lost their session and wait to be resumed. */
  #suspended: Set<(error: RpcError) => void> | undefined = undefined;
  readonly #limits: ClientLimits;
  /** Called when a place may be free. */
  readonly #onPlace: () => void = () => {
    if (this.waiting.size === 0) return;
    this.waiting.progressed();
    this.waiting.startAll(this.picksDiffer);
  };
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
  protected abstract lastError(): Error | undefined;
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
    const call = (method.calling as Calling).create(method, options, input);
    const placed = new PlacedCall(this, call, input, options);
    call.owner = placed;
    this.#place(placed);
    return call.answer;
  }

  /** Makes a call on a session, or queues it until there is one. */
  #place(placed: PlacedCall<C>): void {
    let session: C | undefined;
    try {
      session = this.pick(placed.call.method, placed.input, placed.options);
    } catch (error) {
      this.#fail(placed, error);
      return;
    }
    if (session === undefined) this.#wait(placed);
    else this.#start(placed, session);
  }

  #start(placed: PlacedCall<C>, session: C): void {
    const { call, input, options } = placed;
    placed.session = session;
    // The clock is read only for a call with a timeout.
    placed.startedAt = options?.timeoutMs === undefined ? 0 : Date.now();
    this.onCall(session, call);
    const own: Session & Partial<CallingHost> = this.sessionOf(session);
    // Whatever wraps a session, such as interceptors, replaces `start`.
    if (own.carrierFor !== undefined && own.start === this.start) call.start(own as CallingHost, input, options);
    else followAnswer(call, own.start(call.method, input, options));
    const attempt = options?.attempt;
    if (attempt === undefined || call.method.kind !== "server_stream") return;
    this.#moves ??= new Moves(() => this.takesCalls);
    this.#moves.made(session, own.draining, attempt);
  }

  /** Fails a call that is on no session. */
  #fail({ call }: PlacedCall<C>, error: unknown): void {
    call.end(failureOf(RpcError.from(error, "internal"), call.method, this.peer));
  }

  /** @internal Handles the end of a call on its session. Returns true if the call is made again. */
  onPlacedOver(placed: PlacedCall<C>, error: RpcError | undefined): boolean {
    const { call, session, options } = placed;
    placed.session = undefined;
    if (session === undefined) return false;
    this.onCallOver(session, call, error);
    const { kind } = call.method;
    const mayRepeat = (kind === "unary" || kind === "server_stream") && options?.waitForReady !== false;
    if (!mayRepeat || call.received?.() || !neverRan(error)) return false;
    // As late as the program would receive it: the session may be ending, and counts the call until its stream has ended.
    rejectionAtCaller(error).catch(() => {
      if (!call.over) this.#repeat(placed, session, error);
    });
    return true;
  }

  /** Called when a call is about to be made on a session, and when it is over there. */
  protected onCall(_session: C, _call: PendingCall): void {}
  protected onCallOver(_session: C, _call: PendingCall, _error: RpcError | undefined): void {}

  /**
   * Whether the peer of a session takes one more call now. If it does not, calls that wait are started when one is over. A call that is not to
   * wait is made all the same: the peer decides.
   */
  protected hasPlace(session: Session, options: CallOptions | undefined): boolean {
    const places = placesOf(session);
    if (places === undefined || places.take() || options?.waitForReady === false) return true;
    places.whenFree(this.#onPlace);
    return false;
  }

  /** Makes a call again that was refused on `session`: on another, on the same, or on the next. */
  #repeat(placed: PlacedCall<C>, session: C, error: RpcError): void {
    const { options } = placed;
    let next: C | undefined;
    try {
      next = this.#afterRefusal(error, session, placed);
    } catch (final) {
      placed.call.end(final as RpcError);
      return;
    }
    placed.options = remaining(options, options?.timeoutMs, placed.startedAt);
    if (next === undefined) this.#wait(placed);
    else this.#start(placed, next);
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

  /** Queues a call. */
  #wait(placed: PlacedCall<C>): void {
    const { call, input, options } = placed;
    const { method } = call;
    try {
      if (options?.waitForReady === false) throw notReady(this.lastError());
      this.beforeWait();
      const takesInput = method.kind === "client_stream" || method.kind === "duplex";
      const bytes =
        takesInput || method.blobs !== undefined ? 0 : payloadSize(method.input, input, this.#limits.maxFrameBytes);
      placed.waitingSince ??= Date.now();
      // A server announces how long it drains, but does not decide how long this side waits.
      const drainsUntil = Math.min(this.drainsUntil, Date.now() + this.#limits.maxDrainMs);
      const waitingSince = Math.max(placed.waitingSince, drainsUntil);
      const why = (): Error | undefined =>
        this.takesCalls ? (placed.refusal ?? fullError()) : (this.lastError() ?? placed.refusal);
      const waiting = {
        bytes,
        options,
        waitingSince,
        pick: () => this.pick(method, input, options),
        start: (session: C, own: CallOptions | undefined) => {
          placed.options = own;
          this.#start(placed, session);
        },
        fail: (error: RpcError) => this.#fail(placed, error),
      };
      atEnd(call, this.waiting.add(waiting, why));
    } catch (error) {
      this.#fail(placed, RpcError.from(error, "invalid_argument"));
    }
  }

  /** The session for a call that was refused on another, or undefined: it waits for one. Throws what ends it. */
  #afterRefusal(error: RpcError, session: C, placed: PlacedCall<C>): C | undefined {
    placed.refusal = error;
    const isFull = error.code === "resource_exhausted";
    if (isFull) {
      if (++placed.full > MOST_REFUSALS) throw error;
      placesOf(this.sessionOf(session))?.onRefused(this.#onPlace);
    }
    const next = this.pick(placed.call.method, placed.input, placed.options);
    // Without a budget for repeats elsewhere the call waits.
    if (isFull) return next === session || this.mayRepeat() ? next : undefined;
    if (isRejectedEarly(error)) return next;
    // The connection may not know yet that the session accepts no more calls.
    if (isEndOfSession(error)) return next === session ? undefined : next;
    // A peer that has too much to do may not be alone, but it is not asked again.
    if (next === session || placed.elsewhere || !this.mayRepeat()) throw error;
    placed.elsewhere = true;
    return next;
  }
}

/** Counts the calls that the peer of a session takes; undefined for a session that cannot tell how many are in progress. */
function placesOf(session: Session): CallPlaces | undefined {
  if (session.callsMade !== undefined) {
    session.places ??= new CallPlaces(session as Required<Pick<Session, "callsMade">>, session.peerCalls);
  }
  return session.places;
}

/** Why a call waits although there is a session. */
function fullError(): RpcError {
  return new RpcError("resource_exhausted", "the server's limit of concurrent calls is reached (its limits.maxCalls)");
}

/** A call, and what was tried to make it. */
class PlacedCall<C extends object> implements CallOwner {
  readonly call: PendingCall;
  readonly input: unknown;
  /** With the time that was left at `startedAt`. */
  options: CallOptions | undefined;
  /** The session of the call; undefined while it waits. */
  session: C | undefined = undefined;
  startedAt = 0;
  /** Milliseconds since the epoch; undefined for a call that has not waited. */
  waitingSince: number | undefined = undefined;
  /** The last error of a session that did not take the call. */
  refusal: RpcError | undefined = undefined;
  /** The call was already repeated on another session while its first session was open. */
  elsewhere = false;
  /** How often a peer refused it because it had too many calls. */
  full = 0;
  readonly caller: SessionCaller<C>;

  constructor(caller: SessionCaller<C>, call: PendingCall, input: unknown, options: CallOptions | undefined) {
    this.caller = caller;
    this.call = call;
    this.input = input;
    this.options = options;
  }

  onOver(error: RpcError | undefined): boolean {
    return this.caller.onPlacedOver(this, error);
  }
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

function neverRan(error: RpcError | undefined): error is RpcError {
  if (error?.refused !== true) return false;
  return error.code === "unavailable" || error.code === "resource_exhausted";
}
