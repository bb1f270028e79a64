import type { Session } from "@quicrpc/core";
import type { CloseOptions, DrainOptions, SessionDrainOptions, Unacknowledged } from "@quicrpc/core/internal";
import type { TlsUpdate } from "./listen/listener.js";

/** Current load of a server. */
export interface ServerStats {
  /** Number of open sessions. */
  readonly sessions: number;
  /** Number of calls of `authenticate` that have not settled. */
  readonly authentications: number;
  /** Number of handlers that have not settled, for calls and notifications. */
  readonly handlers: number;
  /** Number of handlers that still run although their call has ended. */
  readonly outlivingHandlers: number;
  /**
   * Estimated number of bytes that this process stores for the clients of all sessions, limited by
   * `limits.maxServerBytes`.
   */
  readonly heldBytes: number;
}

/** Options of `Server.drain`. */
export interface ServerDrainOptions extends DrainOptions, Pick<SessionDrainOptions, "to"> {
  /**
   * Milliseconds over which the sessions are notified one after another, so that clients do not all reconnect elsewhere
   * at once. A session accepts calls until it is notified. At most `timeoutMs`. Default: 1 ms for each session, and at
   * most a quarter of `timeoutMs`.
   */
  readonly spreadMs?: number;
}

/** A running server. */
export interface Server {
  /** Address of the first listener with a port. */
  readonly address: { readonly host: string; readonly port: number };
  /** URLs of the listeners, in the order of the options and with the actual ports. */
  readonly urls: readonly string[];
  /** Open sessions. Empty in the main process of a group of workers. */
  readonly sessions: ReadonlySet<Session>;
  /** Returns the current load. In the main process of a group of workers, the sum of all workers. */
  stats(): ServerStats;
  /**
   * Stops accepting sessions and calls, waits for calls in progress and all handlers, and closes the server. Calls that
   * have not ended after `timeoutMs` (default: `limits.maxDrainMs`) fail with `unavailable`. Clients are notified over
   * `spreadMs`, and redirected to the address `to` if it is set.
   */
  drain(options?: ServerDrainOptions): Promise<Unacknowledged>;
  /**
   * Replaces the certificates of every listener, for example after a renewal. Applies to new sessions; existing
   * sessions continue. Throws without changing anything if a certificate cannot be used or the server is closed.
   * `watchTls` calls this method whenever the certificate files change.
   */
  updateTls(update: TlsUpdate): void;
  /**
   * Closes every session and listener. Calls in progress fail with `unavailable`. Waits for notifications to clients
   * like `Session.close`, and returns the number of notifications that connected clients did not acknowledge. Never
   * rejects.
   */
  close(options?: CloseOptions): Promise<Unacknowledged>;
  /** Keeps the process running while the server is open, which is the default. */
  ref(): void;
  /** Lets the process exit although the server is open. */
  unref(): void;
  /** The group of worker processes. Undefined except in the main process of a server with the option `workers`. */
  readonly group?: WorkerGroup;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Worker processes that serve instead of the main process. */
export interface WorkerGroup {
  readonly size: number;
  /** Process ids of the workers. A worker that exits is replaced. */
  pids(): readonly number[];
  /**
   * Restarts one worker after another, for example after an update. An old worker is drained once its replacement
   * serves. Rejects if a new worker cannot serve; the remaining old workers then continue. The options apply to the
   * drain of each worker.
   */
  restart(options?: ServerDrainOptions): Promise<void>;
}
