import type { Session } from "@quicrpc/core";
import type { CloseOptions, DrainOptions, SessionDrainOptions, Unacknowledged } from "@quicrpc/core/internal";
import type { TlsUpdate } from "./listen/listener.js";

/** Current load of a server. */
export interface ServerStats {
  /** Open sessions. */
  readonly sessions: number;
  /** Calls of `authenticate` that have not settled. */
  readonly authentications: number;
  /** Handlers of calls and notifications that have not settled. */
  readonly handlers: number;
  /** Handlers that still run after the end of their call. */
  readonly outlivingHandlers: number;
  /** Estimated bytes that the peers of all sessions make this side hold, limited by `limits.maxServerBytes`. */
  readonly heldBytes: number;
}

/** Options of `Server.drain`. */
export interface ServerDrainOptions extends DrainOptions, Pick<SessionDrainOptions, "to"> {
  /**
   * Milliseconds over which the sessions are notified one after the other, so that not all clients reconnect elsewhere
   * at once. A session accepts calls until it is notified. At most `timeoutMs`. Default: one for each session, and at
   * most a quarter of `timeoutMs`.
   */
  readonly spreadMs?: number;
}

/** A running server. */
export interface Server {
  /** Address of the first listener that has a port. */
  readonly address: { readonly host: string; readonly port: number };
  /** URLs of the listeners, in the given order and with the actual ports. */
  readonly urls: readonly string[];
  /** Open sessions. Empty in the main process of a group of workers. */
  readonly sessions: ReadonlySet<Session>;
  /** Current load. In the main process of a group of workers, the sum of all workers. */
  stats(): ServerStats;
  /**
   * Accepts no more sessions and calls, waits for calls in progress and all handlers, and closes. Calls that have not
   * ended after `timeoutMs` (default: `limits.maxDrainMs`) fail with `unavailable`. Sessions are notified over
   * `spreadMs` and redirected to `to`.
   */
  drain(options?: ServerDrainOptions): Promise<Unacknowledged>;
  /**
   * Uses other certificates, for example after a renewal, on every listener, for sessions that start from now on.
   * Existing sessions continue. Throws without changing anything if a certificate cannot be used or the server is
   * closed. `watchTls` calls it whenever files change.
   */
  updateTls(update: TlsUpdate): void;
  /**
   * Closes every session and listener. Calls in progress fail with `unavailable`. Waits for notifications to clients
   * like `Session.close`, and returns how many were not acknowledged by connected clients. Never rejects.
   */
  close(options?: CloseOptions): Promise<Unacknowledged>;
  /** Keeps the process alive while the server runs, which is the default. */
  ref(): void;
  /** Lets the process exit even if the server runs. */
  unref(): void;
  /** The workers, in the main process of a group (`workers`). */
  readonly group?: WorkerGroup;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Worker processes that serve instead of the main process. */
export interface WorkerGroup {
  readonly size: number;
  /** Process ids of the workers. A worker that ends for any reason is replaced. */
  pids(): readonly number[];
  /**
   * Restarts one worker after the other, for example after an update: each is drained only when its replacement serves.
   * Rejects if a new worker cannot serve; the remaining old ones continue. The options apply to each worker's drain.
   */
  restart(options?: ServerDrainOptions): Promise<void>;
}
