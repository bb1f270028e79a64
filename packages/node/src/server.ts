import type { Session } from "@quicrpc/core";
import type { CloseOptions, DrainOptions, SessionDrainOptions, Unacknowledged } from "@quicrpc/core/transport";
import type { TlsUpdate } from "./listen/listener.js";

/** Counters of a server's present load. */
export interface ServerStats {
  /** Sessions at present. */
  readonly sessions: number;
  /** Calls of `authenticate` that have not settled. */
  readonly authentications: number;
  /** Handlers of calls and notifications that have not settled. */
  readonly handlers: number;
  /** Running handlers whose call is over. */
  readonly outlivingHandlers: number;
  /** Estimated bytes that the peers of all sessions make this side hold; `limits.maxServerBytes` bounds them. */
  readonly heldBytes: number;
}

/** Options of a server's drain. */
export interface ServerDrainOptions extends DrainOptions, Pick<SessionDrainOptions, "to"> {
  /**
   * Milliseconds over which the sessions are notified, one after the other, so that not all clients go elsewhere at
   * once. Until a session is notified, calls are taken on it. At most `timeoutMs`. Default: as many as there are
   * sessions, and at most a quarter of `timeoutMs`.
   */
  readonly spreadMs?: number;
}

/** A running server. */
export interface Server {
  /** Address of the first listener that has a port. */
  readonly address: { readonly host: string; readonly port: number };
  /** URLs that it listens on, in the order given, with the ports that were taken. */
  readonly urls: readonly string[];
  /** The sessions there are; in a process that keeps workers, none. */
  readonly sessions: ReadonlySet<Session>;
  /** Counters of the present load; in a process that keeps workers, their sum. */
  stats(): ServerStats;
  /**
   * Takes no more sessions and calls, lets those in progress and all handlers finish, and closes. Calls that are not over
   * after `timeoutMs` (default: `limits.maxDrainMs`) fail with `unavailable`. Sessions are notified over `spreadMs`, and sent to `to`.
   */
  drain(options?: ServerDrainOptions): Promise<Unacknowledged>;
  /**
   * Takes other certificates, as after a renewal, on every listener, for sessions that begin from now on; those that live
   * stay. Throws, and leaves everything as it is, where one cannot be used or the server is closed. `watchTls` does
   * it whenever files change.
   */
  updateTls(update: TlsUpdate): void;
  /**
   * Closes every session and listener. Calls in progress fail with `unavailable`. Notifications to clients are waited for as
   * `Session.close` does; it tells how many were not acknowledged by those that were connected. Never rejects.
   */
  close(options?: CloseOptions): Promise<Unacknowledged>;
  /** Keeps the process alive while the server runs, which is the default. */
  ref(): void;
  /** Lets the process end although the server runs. */
  unref(): void;
  /** The workers, where this is the process that keeps them (`workers`). */
  readonly group?: WorkerGroup;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The processes that serve in the place of the one that keeps them. */
export interface WorkerGroup {
  readonly size: number;
  /** The workers' process ids. A worker that ends, however it does, is replaced. */
  pids(): readonly number[];
  /**
   * Starts the program anew in one worker after the other, as after an update: the next one serves before another is drained. Rejects where a
   * new worker cannot serve; those not yet replaced go on. The options are of each worker's drain.
   */
  restart(options?: ServerDrainOptions): Promise<void>;
}
