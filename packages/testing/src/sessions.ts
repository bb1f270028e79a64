import { createSession, type Session, type SessionOptions } from "@quicrpc/core";
import { checkOptions, createMemoryPair, SESSION_OPTIONS } from "@quicrpc/core/transport";

/** Both ends of one session. */
export interface SessionPair {
  readonly client: Session;
  readonly server: Session;
  /** Closes both. */
  close(): Promise<void>;
}

/** Options of both ends of a session. */
export interface SessionPairOptions<Context = unknown> {
  /** Options of the end that serves: its `routers`, the `connection` that handlers find in their context, and so on. */
  readonly server: SessionOptions<Context>;
  /** Options of the end that calls; with `routers`, it serves too. Default: none. */
  readonly client?: SessionOptions;
}

/**
 * Makes both ends of a session in this process, without a network: to drain or to close either, to have the server call the client, or to move time by a test runner's
 * fake timers, which no I/O is in the way of.
 */
export function createSessionPair<Context = unknown>(options: SessionPairOptions<Context>): SessionPair {
  checkOptions("createSessionPair()", options, { server: SESSION_OPTIONS, client: SESSION_OPTIONS });
  const [near, far] = createMemoryPair();
  const server = createSession(far, options.server);
  const client = createSession(near, { peer: "this process", ...options.client });
  return {
    client,
    server,
    async close() {
      await Promise.all([client.close(), server.close()]);
    },
  };
}
