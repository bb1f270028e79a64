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

/** Options of `createConnection`. */
export interface ConnectionOptions {
  /** Whether a session that is lost, or drains, is replaced. Default true. */
  readonly reconnect?: boolean;
  /** How long to wait between attempts to connect. Default: 100 ms at first, 1.6 times longer each time, 30 s at most. */
  readonly backoff?: Partial<Backoff>;
  /**
   * Limits. The connection itself uses those for waiting calls: `maxQueuedBytes`, `maxQueuedMs`. Default:
   * `DEFAULT_LIMITS`.
   */
  readonly limits?: Partial<Limits>;
  /**
   * Returns true if retrying is unlikely to help, as with an untrusted certificate. Calls then fail with the error
   * instead of waiting; attempts continue. Default: always false.
   */
  readonly isPermanent?: (error: Error) => boolean;
  /** The server's name in the errors of calls that wait for a session, such as its URL. Default: none. */
  readonly peer?: string | undefined;
}

/** How a connection replaces a session that works by one that works better. */
export interface ImprovingOptions<S extends Session> {
  /**
   * Searches for a better session than this one, which has just become ready, such as one over another transport. New
   * calls use the session with which it resolves; calls in progress finish on the former one. If it rejects, nothing
   * changes. The signal fires when the search is pointless because the session was lost or drains. Default: no search.
   */
  readonly improve?: (session: S, signal: AbortSignal) => Promise<S>;
}

/** A caller whose sessions come and go. */
export interface Connection<S extends Session = Session> extends TypedCaller {
  /** The state of the connection: whether it is ready, and why not. */
  readonly state: ConnectionState;
  /** The present state, then each change, until `closed`; a slow reader skips to the latest. */
  states(): ItemIterator<ConnectionState>;
  /** The session that new calls go to; undefined unless the state is `ready`. */
  readonly session: S | undefined;
  /** Dials now, unless an attempt is in progress. */
  connect(): void;
  /**
   * Resolves when a session is ready. Rejects when the connection is closed, when the signal fires, when an attempt
   * fails for good (`isPermanent`), or with the last attempt's error when no attempt would follow within `timeoutMs`.
   */
  ready(options?: ReadyOptions): Promise<S>;
  /** Resolves when the connection has ended for good. Never rejects. */
  readonly closed: Promise<SessionEnd>;
  /**
   * Ends every session in the same way as `Session.close`, and makes no more. Waiting calls fail with `unavailable`.
   * Resolves with the number of notifications that were not acknowledged on any session.
   */
  close(options?: CloseOptions): Promise<ClosedSession>;
  /** As `close`, but calls in progress finish, within `timeoutMs` (default: `limits.maxDrainMs`). Those that wait fail. */
  drain(options?: DrainOptions): Promise<ClosedSession>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a connection over the sessions that `dial` makes. `dial` must settle in bounded time, and must end its
 * attempt when its signal fires. If the new session replaces one that drains, `dial` receives that session:
 * `left.departure` is its peer's last message. The connection is idle until the first call, or `connect`.
 */
export function createConnection<S extends Session>(
  dial: (signal: AbortSignal, left?: S) => Promise<S>,
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
    this.#link.hurry();
  }

  ready(options?: ReadyOptions): Promise<S> {
    return whenReady(
      this.states(),
      {
        connect: () => this.#link.connect(),
        ready: () => this.session,
        refusal: () => this.#link.refusal,
        why: () => this.lastError(),
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
    // It may have begun to drain or ended a moment ago.
    return session?.takesCalls === true && this.hasPlace(session, options) ? session : undefined;
  }

  protected get takesCalls(): boolean {
    return this.#link.session?.takesCalls === true;
  }

  protected sessionOf(session: S): S {
    return session;
  }

  /** A connection has no other session. */
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
