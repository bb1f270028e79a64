import { type Deferred, deferred } from "../deferred.js";
import { asError, RpcError, untracedError } from "../errors.js";
import type { ItemIterator } from "../platform-types.js";
import type { ClosedSession, CloseOptions, DrainOptions, SessionEnd } from "../session/options.js";
import type { Session } from "../session/session.js";
import { type Backoff, backoffDelay } from "../call/backoff.js";
import { isDenied, refusalOf } from "../transport/close-codes.js";
import { untilAccepted } from "./ready.js";
import { type ConnectionState, Watched, withResuming } from "./state.js";

/** If a session lasts at least this many milliseconds, the next reconnection starts with the shortest delay. */
const STABLE_MS = 10_000;

/**
 * Maximum delay before the next attempt after ECONNREFUSED, in milliseconds. It is short, because such attempts are
 * cheap.
 */
const MOST_WHERE_NOBODY_LISTENS_MS = 1000;

export interface SessionLinkOptions<S extends Session> {
  /**
   * Opens a session, or rejects in bounded time, and at once when the signal aborts. `draining` is the session that is
   * being drained and that the new one replaces.
   */
  readonly dial: (signal: AbortSignal, draining: S | undefined) => Promise<S>;
  readonly backoff: Backoff;
  readonly reconnect: boolean;
  /** Searches for a better session, as in `ImprovingOptions.improve`. */
  readonly improve?: ((session: S, signal: AbortSignal) => Promise<S>) | undefined;
  /** Returns true if retrying is unlikely to help, as with an untrusted certificate; waiting calls then fail. */
  readonly isPermanent: (error: Error) => boolean;
  readonly onChange: () => void;
}

/** Keeps one session to a peer open: replaces it when it is lost or is being drained. */
export class SessionLink<S extends Session> {
  /** The session for new calls; undefined unless the state is `ready`. */
  session: S | undefined = undefined;
  /**
   * Error with which calls fail instead of waiting, because the last attempt failed with a permanent error; otherwise
   * undefined.
   */
  refusal: Error | undefined = undefined;
  /**
   * Latest time, in milliseconds since the Unix epoch, at which a draining server process ends. The process that
   * replaces it may start only then.
   */
  drainsUntil = 0;
  readonly #options: SessionLinkOptions<S>;
  readonly #watched: Watched<ConnectionState> = new Watched<ConnectionState>({ status: "idle" });
  /** All open sessions, including those that are being drained. */
  #sessions: readonly S[] = [];
  /** The latest session; undefined after it has ended or started to drain. */
  #current: S | undefined = undefined;
  /** The session that is being drained and that the next one replaces. */
  #predecessor: S | undefined = undefined;
  readonly #end: Deferred<SessionEnd> = deferred();
  /** Number of notifications on ended sessions that were not acknowledged. */
  #unacknowledged = 0;
  #failures = 0;
  #resuming = 0;
  #stopped = false;
  #readyAt = 0;
  /** Time at which a session last started to drain, in milliseconds since the Unix epoch. */
  #leftAt: number = Number.NEGATIVE_INFINITY;
  #dialling: AbortController | undefined = undefined;
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

  /** Whether the link was closed or drained, so that it opens no more sessions. */
  get over(): boolean {
    return this.#stopped;
  }

  get closed(): Promise<SessionEnd> {
    return this.#end.promise;
  }

  /** Whether a new session will be opened when the current one is lost. */
  get heals(): boolean {
    return this.#options.reconnect && !this.#stopped;
  }

  setResuming(count: number): void {
    this.#resuming = count;
    if (this.state.status !== "closed") this.#watched.set(withResuming(this.state, count));
  }

  connect(): void {
    if (this.state.status === "idle") this.#attempt({ status: "connecting", failures: 0 });
  }

  retryNow(): void {
    if (this.#retry === undefined) return;
    this.#stopWaiting();
    this.#attempt({ status: "connecting", failures: this.#failures });
  }

  /** Closes the link and all sessions. Resolves with how the last session ended. */
  close(options?: CloseOptions): Promise<ClosedSession> {
    this.#stop(undefined);
    return this.#endAll((session) => session.close(options), options);
  }

  /** Closes the link after the calls in progress have finished. Resolves with how the last session ended. */
  drain(options?: DrainOptions): Promise<ClosedSession> {
    if (this.state.status === "closed") return this.#closedSession();
    this.#stopDialling();
    this.#set({ status: "draining" });
    return this.#endAll((session) => session.drain(options));
  }

  async #endAll(
    end: (session: S) => Promise<ClosedSession>,
    { closeCode = 0, reason = "" }: CloseOptions = {},
  ): Promise<ClosedSession> {
    const ends = await Promise.all(this.#sessions.map(end));
    this.#stop(undefined);
    this.#end.resolve(ends.at(-1) ?? { closeCode, reason, error: undefined });
    return this.#closedSession();
  }

  async #closedSession(): Promise<ClosedSession> {
    return { ...(await this.closed), unacknowledged: this.#unacknowledged };
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
    // A server may refuse a session after it was opened.
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
    // A session that has already ended does not change the state.
    if (!session.takesCalls) return;
    this.session = session;
    this.#improve(session);
    this.#set({ status: "ready" });
  }

  /**
   * Searches for a better session. When it is found, the former session is drained without a time limit, so that its
   * calls finish.
   */
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

  /** Stops using the session for new calls, which then wait. */
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
      this.#stop(error);
      this.#end.resolve(end);
      return;
    }
    if (Date.now() - this.#readyAt >= STABLE_MS) this.#failures = 0;
    this.#waitToRetry(error);
  }

  /**
   * Handles a session that has started to drain. Opens its replacement at once, because the peer works, unless sessions
   * drain in quick succession.
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
    const maxDelayMs = nobodyListens(error) ? MOST_WHERE_NOBODY_LISTENS_MS : Number.POSITIVE_INFINITY;
    const delay = Math.min(maxDelayMs, backoffDelay(this.#failures++, this.#options.backoff));
    const failures = this.#failures;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#attempt({ status: "connecting", failures, error });
    }, delay);
    this.#set({ status: "connecting", failures, error, retryAt: Date.now() + delay });
  }

  #stop(error: Error | undefined): void {
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
