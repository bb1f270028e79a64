import { createSession, type Session, type SessionOptions } from "@quicrpc/core";
import { checkOptions, SESSION_OPTIONS } from "@quicrpc/core/internal";
import { createMemoryPair } from "@quicrpc/core/transport";

/** Both ends of a session. */
export interface SessionPair {
  readonly client: Session;
  readonly server: Session;
  /** Closes both ends. */
  close(): Promise<void>;
}

/** Options of both ends of a session. */
export interface SessionPairOptions<Context = unknown> {
  /** Options of the serving end: its `routers`, the `connection` in the handlers' context, and so on. */
  readonly server: SessionOptions<Context>;
  /** Options of the calling end; with `routers`, it serves too. Default: none. */
  readonly client?: SessionOptions;
}

/**
 * Creates both ends of a session in this process, without a network. Use it to test drains, closes and calls from the
 * server, and to control time with a test runner's fake timers.
 */
export function createSessionPair<Context = unknown>(options: SessionPairOptions<Context>): SessionPair {
  checkOptions("createSessionPair()", options, { server: SESSION_OPTIONS, client: SESSION_OPTIONS });
  const [clientSide, serverSide] = createMemoryPair();
  const server = createSession(serverSide, options.server);
  const client = createSession(clientSide, { peer: "this process", ...options.client });
  return {
    client,
    server,
    async close() {
      await Promise.all([client.close(), server.close()]);
    },
  };
}
