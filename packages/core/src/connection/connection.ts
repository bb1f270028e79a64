import type { TypedCaller } from "../call/base-caller.js";
import type { CallOptions } from "../call/options.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { completeClientLimits } from "../client-limits.js";
import type { Limits } from "../limits.js";
import type { ItemIterator } from "../platform-types.js";
import type { ClosedSession, CloseOptions, DrainOptions, SessionEnd } from "../session/options.js";
import type { Session } from "../session/session.js";
import { type Backoff, DEFAULT_BACKOFF } from "../call/backoff.js";
import { SessionLink } from "./link.js";
import { type ReadyOptions, whenReady } from "./ready.js";
import { closedError, notReady, SessionCaller } from "./session-caller.js";
import type { ConnectionState } from "./state.js";

export interface ConnectionOptions {
  /** Whether to open a new session when the current one is lost or is being drained. Default true. */
  readonly reconnect?: boolean;
  /** Delays between attempts to connect. Default: 100 ms at first, 1.6 times longer each time, 30 s at most. */
  readonly backoff?: Partial<Backoff>;
  /**
   * Limits. The connection itself uses `maxQueuedBytes` and `maxQueuedMs`, for calls that wait for a session. Default:
   * `DEFAULT_LIMITS`.
   */
  readonly limits?: Partial<Limits>;
  /**
   * Returns true if retrying after this error is unlikely to help, as with an untrusted certificate. Waiting calls then
   * fail with the error, although the connection continues to retry. Default: always false.
   */
  readonly isPermanent?: (error: Error) => boolean;
  /** Name of the server for error messages, such as its URL. Default: none. */
  readonly peer?: string | undefined;
}

export interface ImprovingOptions<S extends Session> {
  /**
   * Called when a session is ready. Searches for a better one, for example over another transport. New calls use the
   * session that it resolves with; calls in progress finish on the former one. If it rejects, nothing changes. The
   * signal aborts when `session` is lost or is being drained. Default: no search.
   */
  readonly improve?: (session: S, signal: AbortSignal) => Promise<S>;
}

/** A caller that opens a session when needed and replaces it when it is lost. Calls wait while there is no session. */
export interface Connection<S extends Session = Session> extends TypedCaller {
  /** Current state of the connection. */
  readonly state: ConnectionState;
  /**
   * Returns an iterator over the current state and each later state, until `closed`. A slow reader gets only the latest
   * state.
   */
  states(): ItemIterator<ConnectionState>;
  /** The session for new calls; undefined unless the state is `ready`. */
  readonly session: S | undefined;
  /** Connects now, unless an attempt is in progress. */
  connect(): void;
  /**
   * Connects if necessary, and resolves when a session is ready. Rejects if the connection is closed, the signal
   * aborts, an attempt fails with a permanent error (`isPermanent`), or an attempt fails and the next one would begin
   * after `timeoutMs`.
   */
  ready(options?: ReadyOptions): Promise<S>;
  /** Resolves when the connection is closed and opens no more sessions. Never rejects. */
  readonly closed: Promise<SessionEnd>;
  /**
   * Closes the connection and all its sessions (see `Session.close`). Waiting calls fail with `unavailable`. Resolves
   * with how the last session ended, and the number of unacknowledged notifications of all sessions.
   */
  close(options?: CloseOptions): Promise<ClosedSession>;
  /**
   * Closes the connection after the calls in progress have finished, or after `timeoutMs` (default:
   * `limits.maxDrainMs`). Waiting calls fail with `unavailable`.
   */
  drain(options?: DrainOptions): Promise<ClosedSession>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a connection. It opens a session with `dial` when the first call is made or `connect` is called.
 *
 * @param dial opens a session. It must settle in bounded time, and reject when its signal aborts. If `draining` is defined,
 * the new session replaces this one, which is being drained; `left.departure` is the peer's last message
 */
export function createConnection<S extends Session>(
  dial: (signal: AbortSignal, draining?: S) => Promise<S>,
  options: ConnectionOptions & ImprovingOptions<S> = {},
): Connection<S> {
  return new HealingConnection(dial, options);
}

class HealingConnection<S extends Session> extends SessionCaller<S> implements Connection<S> {
  readonly #link: SessionLink<S>;

  constructor(dial: (signal: AbortSignal, left?: S) => Promise<S>, options: ConnectionOptions & ImprovingOptions<S>) {
    super(completeClientLimits(options.limits), options.peer);
    this.#link = new SessionLink({
      dial,
      backoff: { ...DEFAULT_BACKOFF, ...options.backoff },
      reconnect: options.reconnect ?? true,
      isPermanent: options.isPermanent ?? (() => false),
      improve: options.improve,
      onChange: () => this.#onChange(),
    });
  }

  get state(): ConnectionState {
    return this.#link.state;
  }

  get session(): S | undefined {
    return this.#link.session;
  }

  get closed(): Promise<SessionEnd> {
    return this.#link.closed;
  }

  states(): ItemIterator<ConnectionState> {
    return this.#link.states();
  }

  connect(): void {
    this.#link.connect();
    this.#link.retryNow();
  }

  ready(options?: ReadyOptions): Promise<S> {
    return whenReady(
      this.states(),
      {
        connect: () => this.#link.connect(),
        ready: () => this.session,
        refusal: () => this.#link.refusal,
        closeError: () => this.lastError(),
      },
      options,
    );
  }

  close(options?: CloseOptions): Promise<ClosedSession> {
    return this.#link.close(options);
  }

  drain(options?: DrainOptions): Promise<ClosedSession> {
    return this.#link.drain(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  protected pick(_method: AnyMethod, _input: unknown, options: CallOptions | undefined): S | undefined {
    const { session } = this.#link;
    // The session may have ended, or started to drain, a moment ago.
    return session?.takesCalls === true && this.hasPlace(session, options) ? session : undefined;
  }

  protected get takesCalls(): boolean {
    return this.#link.session?.takesCalls === true;
  }

  protected sessionOf(session: S): S {
    return session;
  }

  /** Returns false, because a connection has only one session for new calls. */
  protected mayRepeat(): boolean {
    return false;
  }

  protected get heals(): boolean {
    return this.#link.heals;
  }

  protected get isOneProcess(): boolean {
    return true;
  }

  protected onSuspended(count: number): void {
    this.#link.setResuming(count);
  }

  protected get drainsUntil(): number {
    return this.#link.drainsUntil;
  }

  protected lastError(): Error | undefined {
    const { state } = this.#link;
    return state.status === "connecting" || state.status === "closed" ? state.error : undefined;
  }

  protected beforeWait(): void {
    if (this.#link.over) throw closedError(this.lastError());
    if (this.#link.refusal !== undefined) throw notReady(this.#link.refusal);
    this.#link.connect();
  }

  #onChange(): void {
    const { refusal } = this.#link;
    if (this.#link.over) this.failWaiting(() => closedError(this.lastError()));
    else if (refusal !== undefined) this.failWaiting(() => notReady(refusal));
    else this.startWaiting();
  }
}
