import { type AnyAnswer, BaseCaller, type Resumption } from "../call/base-caller.js";
import { CallPlaces } from "../call/call-places.js";
import type { CallOptions, Attempt } from "../call/options.js";
import { rejectionAtCaller } from "../callers-line.js";
import { payloadSize, streamsInput } from "../call/messages/payload.js";
import type { Calling, CallingHost } from "../client/calling.js";
import { callFailureOf, atEnd, type CallOwner, followAnswer, type PendingCall } from "../client/pending-call.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { hintOf, RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import type { Session } from "../session/session.js";
import { isDenied, isEndOfSession, isRejectedEarly } from "../transport/close-codes.js";
import { remaining, WaitingCalls } from "./waiting-calls.js";
import { young } from "../young.js";

/** Moves resumable streams from sessions that are being drained to other sessions. */
class Moves<C extends object> {
  readonly #canMove: () => boolean;
  readonly #bySession: WeakMap<C, Set<Attempt>> = new WeakMap();
  /** Attempts of streams on sessions that are being drained. */
  #leaving: Set<Attempt> | undefined = undefined;

  /** @param canMove returns true if a session is available for new calls */
  constructor(canMove: () => boolean) {
    this.#canMove = canMove;
  }

  /**
   * Called when an attempt of a stream was started on `session`. `draining` resolves when that session starts to drain.
   */
  made(session: C, draining: Promise<void>, attempt: Attempt): void {
    let attempts = this.#bySession.get(session);
    if (attempts === undefined) {
      const all = new Set<Attempt>();
      attempts = all;
      this.#bySession.set(session, all);
      void draining.then(() => {
        this.#leaving ??= new Set();
        for (const move of all) this.#leaving.add(move);
        this.start();
      });
    }
    const sessions = attempts;
    sessions.add(attempt);
    attempt.onOver = young(() => {
      sessions.delete(attempt);
      this.#leaving?.delete(attempt);
    });
    attempt.onMade();
  }

  /** Moves streams if a session is available. Called when one may have become available. */
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

/**
 * Maximum number of times that a call is repeated after a peer has refused it because of too many calls or too little
 * memory.
 */
const MOST_REFUSALS = 8;

/**
 * Makes each call on an available session, or queues it until there is one. Repeats a unary or server-streaming call
 * only if no handler has received it: if a closing session refused it, on the next session; if an overloaded peer
 * refused it, once on another session; if the peer has too many calls, when one of them has ended.
 */
export abstract class SessionCaller<C extends object> extends BaseCaller {
  protected readonly waiting: WaitingCalls<C>;
  #moves: Moves<C> | undefined = undefined;
  /** Callbacks that end the streams that wait to be resumed. */
  #suspended: Set<(error: RpcError) => void> | undefined = undefined;
  readonly #limits: ClientLimits;
  /** Called when the peer may accept another call. */
  readonly #onPlace: () => void = () => {
    if (this.waiting.size === 0) return;
    this.waiting.progressed();
    this.waiting.startAll(this.picksDiffer);
  };
  /** Name of the peer, or of all possible peers, for error messages. */
  protected peer: string | undefined;

  constructor(limits: ClientLimits, peer?: string) {
    super();
    this.peer = peer;
    this.#limits = limits;
    this.waiting = new WaitingCalls(limits);
  }

  /** Returns the session for a call; undefined if none is available. */
  protected abstract pick(method: AnyMethod, input: unknown, options: CallOptions | undefined): C | undefined;
  /** Whether a session is available for the next call. */
  protected abstract readonly takesCalls: boolean;
  /** Returns true if a call that one session refused may be repeated on another while the first is still open. */
  protected abstract mayRepeat(): boolean;

  /** True if the waiting calls may need different sessions. */
  protected get picksDiffer(): boolean {
    return false;
  }
  /** Returns the reason why no session is available, if it is known. */
  protected abstract lastError(): Error | undefined;
  protected abstract sessionOf(session: C): Session;
  /** Whether a new session may become available after one was lost. */
  protected abstract readonly heals: boolean;
  /** Whether all sessions lead to the same server process, as far as this side knows. */
  protected abstract readonly isOneProcess: boolean;
  /** Called when the number of streams that wait to be resumed has changed. */
  protected abstract onSuspended(count: number): void;
  /**
   * Latest time at which a draining server process ends, in milliseconds since the Unix epoch. `limits.maxQueuedMs` of
   * waiting calls counts from then.
   */
  protected abstract readonly drainsUntil: number;
  /** Called before a call is queued. Throws `RpcError` if no session will become available. */
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

  /** Starts a call on a session, or queues it until one is available. */
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
    // Reading the clock is only necessary for a call with a timeout.
    placed.startedAt = options?.timeoutMs === undefined ? 0 : Date.now();
    this.onCall(session, call);
    const host: Session & Partial<CallingHost> = this.sessionOf(session);
    // A wrapper of a session, such as `interceptCaller`, replaces `start`.
    if (host.carrierFor !== undefined && host.start === this.start) call.start(host as CallingHost, input, options);
    else followAnswer(call, host.start(call.method, input, options));
    const attempt = options?.attempt;
    if (attempt === undefined || call.method.kind !== "server_stream") return;
    this.#moves ??= new Moves(() => this.takesCalls);
    this.#moves.made(session, host.draining, attempt);
  }

  #fail({ call }: PlacedCall<C>, error: unknown): void {
    call.end(callFailureOf(RpcError.from(error, "internal"), call.method, this.peer));
  }

  /** @internal Called when a call has ended on its session. Returns true if the call will be repeated. */
  onPlacedOver(placed: PlacedCall<C>, error: RpcError | undefined): boolean {
    const { call, session, options } = placed;
    placed.session = undefined;
    if (session === undefined) return false;
    this.onCallOver(session, call, error);
    const { kind } = call.method;
    const mayRepeat = (kind === "unary" || kind === "server_stream") && options?.waitForReady !== false;
    if (!mayRepeat || call.received?.() || !neverRan(error)) return false;
    // Repeats the call only when the application would have received the error, because a closing session counts a call
    // until its stream has ended.
    rejectionAtCaller(error).catch(() => {
      if (!call.over) this.#repeat(placed, session, error);
    });
    return true;
  }

  /** Called before a call is started on a session. `onCallOver` is called when it has ended there. */
  protected onCall(_session: C, _call: PendingCall): void {}
  protected onCallOver(_session: C, _call: PendingCall, _error: RpcError | undefined): void {}

  /**
   * Returns true if the peer of a session accepts one more call now. Otherwise waiting calls are started when a call
   * has ended. For a call that must not wait, always returns true, so that the peer decides.
   */
  protected hasPlace(session: Session, options: CallOptions | undefined): boolean {
    // The common case: the peer has announced a limit of concurrent calls, which was never reached.
    if (session.places === undefined && (session.callsMade?.() ?? 0) < (session.peerCalls ?? 0)) return true;
    const places = placesOf(session);
    if (places === undefined || places.take() || options?.waitForReady === false) return true;
    places.whenFree(this.#onPlace);
    return false;
  }

  /** Repeats a call that `session` has refused: on another session, on the same one, or on the next one. */
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

  /** Starts waiting calls and moves streams. Called when a session may have become available. */
  protected startWaiting(): void {
    if (this.waiting.size > 0) this.waiting.startAll(this.picksDiffer);
    this.#moves?.start();
  }

  /** Fails all waiting calls with the error that `errorOf` returns. `errorOf` is not called if there are none. */
  protected failWaiting(errorOf: () => RpcError): void {
    const suspended = this.#suspended;
    if (this.waiting.size === 0 && suspended === undefined) return;
    const error = errorOf();
    this.waiting.failAll(error);
    if (!this.heals) suspended?.forEach((fail) => fail(error));
  }

  #suspend(fail: (error: RpcError) => void): () => void {
    const listener = (error: RpcError): void => fail(error);
    const suspended = (this.#suspended ??= new Set());
    suspended.add(listener);
    this.onSuspended(suspended.size);
    return () => {
      if (suspended.delete(listener)) this.onSuspended(suspended.size);
    };
  }

  /** Puts a call in the queue. Fails it if it must not wait. */
  #wait(placed: PlacedCall<C>): void {
    const { call, input, options } = placed;
    const { method } = call;
    try {
      if (options?.waitForReady === false) throw notReady(this.lastError());
      this.beforeWait();
      const takesItems = streamsInput(method);
      const bytes =
        takesItems || method.blobs !== undefined ? 0 : payloadSize(method.input, input, this.#limits.maxFrameBytes);
      placed.waitingSince ??= Date.now();
      // The peer announces how long it drains; this side limits how long it waits.
      const drainsUntil = Math.min(this.drainsUntil, Date.now() + this.#limits.maxDrainMs);
      const waitingSince = Math.max(placed.waitingSince, drainsUntil);
      const lastError = (): Error | undefined =>
        this.takesCalls ? (placed.refusal ?? fullError()) : (this.lastError() ?? placed.refusal);
      const waiting = {
        bytes,
        options,
        waitingSince,
        pick: () => this.pick(method, input, options),
        start: (session: C, callOptions: CallOptions | undefined) => {
          placed.options = callOptions;
          this.#start(placed, session);
        },
        fail: (error: RpcError) => this.#fail(placed, error),
      };
      atEnd(call, this.waiting.add(waiting, lastError));
    } catch (error) {
      this.#fail(placed, RpcError.from(error, "invalid_argument"));
    }
  }

  /**
   * Returns the session on which to repeat a refused call, or undefined if the call must wait. Throws the error that
   * ends the call if it must not be repeated.
   */
  #afterRefusal(error: RpcError, session: C, placed: PlacedCall<C>): C | undefined {
    placed.refusal = error;
    const isFull = error.code === "resource_exhausted";
    if (isFull) {
      if (++placed.full > MOST_REFUSALS) throw error;
      placesOf(this.sessionOf(session))?.onRefused(this.#onPlace);
    }
    const next = this.pick(placed.call.method, placed.input, placed.options);
    // If the call must not be repeated on another session, it waits.
    if (isFull) return next === session || this.mayRepeat() ? next : undefined;
    if (isRejectedEarly(error)) return next;
    // `pick` may still return a session that has just stopped accepting calls.
    if (isEndOfSession(error)) return next === session ? undefined : next;
    // The peer is overloaded, and other peers may be too: one repetition, on another session.
    if (next === session || placed.elsewhere || !this.mayRepeat()) throw error;
    placed.elsewhere = true;
    return next;
  }
}

/** Returns the object that limits concurrent calls of a session; undefined if the session cannot count its calls. */
function placesOf(session: Session): CallPlaces | undefined {
  if (session.callsMade !== undefined) {
    session.places ??= new CallPlaces(session as Required<Pick<Session, "callsMade">>, session.peerCalls);
  }
  return session.places;
}

/** Returns the error that explains why a call waits although a session is available. */
function fullError(): RpcError {
  return new RpcError("resource_exhausted", "the server's limit of concurrent calls is reached (its limits.maxCalls)");
}

class PlacedCall<C extends object> implements CallOwner {
  readonly call: PendingCall;
  readonly input: unknown;
  /** Options of the call. `timeoutMs` is the time that was left at `startedAt`. */
  options: CallOptions | undefined;
  /** Session on which the call runs; undefined while it waits. */
  session: C | undefined = undefined;
  startedAt = 0;
  /** Time at which the call first had to wait, in milliseconds since the Unix epoch; undefined if it has not waited. */
  waitingSince: number | undefined = undefined;
  /** Last error with which a session refused the call. */
  refusal: RpcError | undefined = undefined;
  /** Whether the call was already repeated on another session because its peer was overloaded. */
  elsewhere = false;
  /** Number of times that a peer refused the call because of too many calls. */
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

/** Returns the error for a call that must not wait although no session is available. */
export function notReady(cause: Error | undefined): RpcError {
  const because = cause === undefined ? "" : `: ${cause.message}`;
  const code = cause !== undefined && isDenied(cause) ? cause.code : "unavailable";
  return new RpcError(code, `there is no session${because}`, { refused: true, cause, hint: hintOf(cause) });
}

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
