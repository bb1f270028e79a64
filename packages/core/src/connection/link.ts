import { type Deferred, deferred } from "../deferred.js";
import { asError, RpcError, untracedError } from "../errors.js";
import type { ItemIterator } from "../platform-types.js";
import type { ClosedSession, CloseOptions, DrainOptions, SessionEnd } from "../session/options.js";
import type { Session } from "../session/session.js";
import { type Backoff, backoffDelay } from "../call/backoff.js";
import { isDenied, refusalOf } from "../transport/close-codes.js";
import { untilAccepted } from "./ready.js";
import { type ConnectionState, Watched, withResuming } from "./state.js";

/** A session that lasted this many milliseconds resets the backoff. */
const STABLE_MS = 10_000;

/** Maximum pause before another attempt if the port refuses connections: such attempts cost nothing. */
const MOST_WHERE_NOBODY_LISTENS_MS = 1000;

/** Options of a link. */
export interface SessionLinkOptions<S extends Session> {
  /** Makes a session, or rejects in bounded time; at once when the signal fires. `left` is the session that drains, whose place it takes. */
  readonly dial: (signal: AbortSignal, left: S | undefined) => Promise<S>;
  readonly backoff: Backoff;
  readonly reconnect: boolean;
  /** Searches for a better session, as in `ConnectionOptions.improve`. */
  readonly improve?: ((session: S, signal: AbortSignal) => Promise<S>) | undefined;
  /** Whether trying again is pointless for calls that wait, such as after a wrong certificate. */
  readonly isPermanent: (error: Error) => boolean;
  /** After each change of state. */
  readonly onChange: () => void;
}

/** One session to one peer, replaced whenever it is lost or drains. */
export class SessionLink<S extends Session> {
  /** The session for new calls; undefined unless ready. */
  session: S | undefined = undefined;
  /** Why calls should not wait: the last attempt failed in a way that the next will not mend. */
  refusal: Error | undefined = undefined;
  /** Time, in milliseconds since the epoch, until which the process of a server that drained may run. Its successor may begin only then. */
  drainsUntil = 0;
  readonly #options: SessionLinkOptions<S>;
  readonly #watched: Watched<ConnectionState> = new Watched<ConnectionState>({ status: "idle" });
  /** Every session that has not ended, those that drain too. */
  #sessions: readonly S[] = [];
  /** The latest session, as long as it lasts. */
  #current: S | undefined = undefined;
  /** The session that began to drain, until the next is there. */
  #predecessor: S | undefined = undefined;
  readonly #end: Deferred<SessionEnd> = deferred();
  /** Notifications that the peers of sessions which have ended did not acknowledge. */
  #unacknowledged = 0;
  #failures = 0;
  /** Number of streams that wait to be resumed. */
  #resuming = 0;
  #stopped = false;
  #readyAt = 0;
  /** When a session last began to drain. */
  #leftAt: number = Number.NEGATIVE_INFINITY;
  #dialling: AbortController | undefined = undefined;
  /** The search for a better session than `session`. */
  #improving: AbortController | undefined = undefined;
  #retry: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(options: SessionLinkOptions<S>) {
    this.#options = options;
  }

  get state(): ConnectionState {
    return this.#watched.value;
  }

  states(): ItemIterator<ConnectionState> {
    return this.#watched.watch();
  }

  /** Whether no more sessions are made, because it was closed or drained. */
  get over(): boolean {
    return this.#stopped;
  }

  get closed(): Promise<SessionEnd> {
    return this.#end.promise;
  }

  /** Whether there may be another session after the present one. */
  get heals(): boolean {
    return this.#options.reconnect && !this.#stopped;
  }

  /** Sets the number of streams that wait to be resumed. */
  setResuming(count: number): void {
    this.#resuming = count;
    if (this.state.status !== "closed") this.#watched.set(withResuming(this.state, count));
  }

  /** Leaves `idle`; otherwise does nothing. */
  connect(): void {
    if (this.state.status === "idle") this.#attempt({ status: "connecting", failures: 0 });
  }

  /** Tries now rather than when the wait is over, since there is reason to think it will go well. */
  hurry(): void {
    if (this.#retry === undefined) return;
    this.#stopWaiting();
    this.#attempt({ status: "connecting", failures: this.#failures });
  }

  /** Closes the link for good. Resolves when every session has ended, with how the last one did. */
  async close(options: CloseOptions = {}): Promise<ClosedSession> {
    const { closeCode = 0, reason = "" } = options;
    this.#giveUp(undefined);
    const ends = await Promise.all(this.#sessions.map((session) => session.close(options)));
    this.#end.resolve(ends.at(-1) ?? { closeCode, reason, error: undefined });
    return this.#left();
  }

  /** As `close`, but calls in progress finish. */
  async drain(options?: DrainOptions): Promise<ClosedSession> {
    if (this.state.status !== "closed") {
      this.#stopDialling();
      this.#set({ status: "draining" });
      const ends = await Promise.all(this.#sessions.map((session) => session.drain(options)));
      this.#giveUp(undefined);
      this.#end.resolve(ends.at(-1) ?? { closeCode: 0, reason: "", error: undefined });
    }
    return this.#left();
  }

  async #left(): Promise<ClosedSession> {
    const { closeCode, reason, error } = await this.closed;
    return { closeCode, reason, error, unacknowledged: this.#unacknowledged };
  }

  #attempt(state: ConnectionState): void {
    this.#set(state);
    const abort = new AbortController();
    this.#dialling = abort;
    this.#dial(abort.signal).then(
      (session) => {
        if (this.#dialling === abort) this.#adopt(session);
        else void session.close();
      },
      (error: unknown) => {
        if (this.#dialling === abort) this.#failed(asError(error));
      },
    );
  }

  async #dial(signal: AbortSignal): Promise<S> {
    const session = await this.#options.dial(signal, this.#predecessor);
    // A server may refuse a session after it has started.
    if (this.refusal !== undefined) await untilAccepted(session, signal);
    return session;
  }

  #adopt(session: S): void {
    this.#dialling = undefined;
    this.refusal = undefined;
    this.#readyAt = Date.now();
    this.#current = session;
    this.#predecessor = undefined;
    this.#sessions = this.#sessions.concat(session);
    void session.closed.then((end) => this.#ended(session, end));
    void session.draining.then(() => this.#leaves(session));
    // It may be over already: then it is not worth a change of state.
    if (!session.takesCalls) return;
    this.session = session;
    this.#improve(session);
    this.#set({ status: "ready" });
  }

  /** Calls in progress finish on the session that a better one replaces, however long they take. */
  #improve(session: S): void {
    const { improve } = this.#options;
    if (improve === undefined) return;
    const search = new AbortController();
    this.#improving = search;
    improve(session, search.signal).then(
      (better) => {
        if (search.signal.aborted) {
          void better.close();
          return;
        }
        this.#adopt(better);
        void session.drain({ timeoutMs: Number.POSITIVE_INFINITY });
      },
      () => {},
    );
  }

  /** Withdraws the session: new calls wait. */
  #withdraw(): void {
    this.session = undefined;
    this.#improving?.abort(new RpcError("cancelled", "the session is no longer in use"));
    this.#improving = undefined;
  }

  #failed(error: Error): void {
    this.#dialling = undefined;
    this.#waitToRetry(error);
  }

  #ended(session: S, end: SessionEnd): void {
    this.#sessions = this.#sessions.filter((other) => other !== session);
    this.#unacknowledged += session.unacknowledged;
    if (this.#current !== session) return;
    this.#current = undefined;
    if (this.#stopped) return;
    this.#withdraw();
    const error = refusalOf(end.error) ?? end.error ?? untracedError("unavailable", describeEnd(end));
    if (!this.#options.reconnect) {
      this.#giveUp(error);
      this.#end.resolve(end);
      return;
    }
    if (Date.now() - this.#readyAt >= STABLE_MS) this.#failures = 0;
    this.#waitToRetry(error);
  }

  /**
   * Handles a session that drains and ends when its calls are over. Dials the next at once, since the peer is healthy,
   * unless sessions keep draining.
   */
  #leaves(session: S): void {
    if (this.#current !== session || this.#stopped) return;
    this.#withdraw();
    if (!this.#options.reconnect) {
      this.#set({ status: "draining" });
      return;
    }
    this.#current = undefined;
    this.#predecessor = session;
    const { final, withinMs = 0 } = session.departure ?? {};
    if (final === true) this.drainsUntil = Date.now() + withinMs;
    const before = this.#leftAt;
    this.#leftAt = Date.now();
    if (this.#leftAt - before >= this.#options.backoff.initialMs) this.#attempt({ status: "draining" });
    else this.#waitToRetry(new RpcError("unavailable", "the peer drains each session as soon as it is made"));
  }

  #waitToRetry(error: Error): void {
    this.refusal = isDenied(error) || this.#options.isPermanent(error) ? error : undefined;
    const most = nobodyListens(error) ? MOST_WHERE_NOBODY_LISTENS_MS : Number.POSITIVE_INFINITY;
    const delay = Math.min(most, backoffDelay(this.#failures++, this.#options.backoff));
    const failures = this.#failures;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#attempt({ status: "connecting", failures, error });
    }, delay);
    this.#set({ status: "connecting", failures, error, retryAt: Date.now() + delay });
  }

  #giveUp(error: Error | undefined): void {
    if (this.state.status === "closed") return;
    this.#stopDialling();
    this.#set(error === undefined ? { status: "closed" } : { status: "closed", error }, true);
  }

  #stopDialling(): void {
    this.#stopped = true;
    this.#stopWaiting();
    const dialling = this.#dialling;
    this.#dialling = undefined;
    this.#withdraw();
    dialling?.abort(new RpcError("cancelled", "the connection was closed"));
  }

  #stopWaiting(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  #set(state: ConnectionState, last = false): void {
    this.#watched.set(withResuming(state, this.#resuming), last);
    this.#options.onChange();
  }
}

function nobodyListens(error: Error): boolean {
  return (error as { readonly code?: unknown }).code === "ECONNREFUSED";
}

function describeEnd({ closeCode, reason }: SessionEnd): string {
  return `the peer closed the session with code ${closeCode}${reason === "" ? "" : `: ${reason}`}`;
}
