import { createSession, type Session, type SessionOptions } from "@quicrpc/core";
import { checkOptions, SESSION_OPTIONS } from "@quicrpc/core/internal";
import { createMemoryPair } from "@quicrpc/core/transport";

/** Both sides of a session. */
export interface SessionPair {
  readonly client: Session;
  readonly server: Session;
  /** Closes both sides of the session. */
  close(): Promise<void>;
}

/** Options for both sides of a session. */
export interface SessionPairOptions<Context = unknown> {
  /** Options of the server side: its `routers`, the `connection` in the handlers' context, and so on. */
  readonly server: SessionOptions<Context>;
  /** Options of the client side. With `routers`, it also serves calls. Default: none. */
  readonly client?: SessionOptions;
}

/**
 * Creates both sides of a session in this process, without a network. Use it to test draining, closing and calls from
 * the server, and with fake timers of a test runner.
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
