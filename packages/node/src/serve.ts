import {
  type CloseInfo,
  combineRouters,
  createSession,
  type ErrorHook,
  type Limits,
  type Router,
  type Session,
  type SessionOptions,
} from "@quicrpc/core";
import { Endpoint, type QuicSession, type TransportOptions } from "@quicrpc/quic";
import { ALPN, DEFAULT_PORT } from "./protocol.js";

/** Options of `serve`. */
export interface ServeOptions<Context = unknown> {
  /** UDP port; 0 takes a free one. Default 4433. */
  readonly port?: number;
  /** Address to listen on. Default: every address. */
  readonly host?: string;
  /** Certificate chain and private key in PEM; `devCertificate()` makes them for development. */
  readonly tls: { readonly cert: string | Uint8Array; readonly key: string | Uint8Array };
  readonly routers: readonly Router<Context>[];
  /** What handlers find as `context.connection`, made once for each session. */
  readonly connection?: (transport: QuicSession) => Context;
  /** Told of each new session: to call the client, or to wait for its end. */
  readonly onSession?: (session: Session<QuicSession>) => void;
  /** Told of failures that the caller is not told in full. Default: `console.error`. */
  readonly onError?: ErrorHook;
  readonly limits?: Partial<Limits>;
  /** Timeouts, windows and stream limits of the connections. */
  readonly transport?: TransportOptions;
}

/** A running server. */
export interface Server {
  readonly address: { readonly host: string; readonly port: number };
  readonly sessions: ReadonlySet<Session<QuicSession>>;
  /** Closes every session and the port. Calls in progress fail with `unavailable`. */
  close(info?: CloseInfo): Promise<void>;
  /** Lets the process end, or not, while the server runs. */
  ref(): void;
  unref(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Serves `routers` on a UDP port. Rejects with a `QuicError`: `EADDRINUSE` when the port is taken,
 * `ERR_QUIC_INVALID_OPTION` when the certificate or key cannot be read. Throws `TypeError` when two routers collide.
 */
export async function serve<Context = unknown>(options: ServeOptions<Context>): Promise<Server> {
  const { port = DEFAULT_PORT, host, tls, transport } = options;
  const routers = [combineRouters(options.routers)];
  const endpoint = Endpoint.bind({ port, ...(host !== undefined && { host }) });
  const sessions = new Set<Session<QuicSession>>();
  const onSession = (quic: QuicSession): void => {
    try {
      const session = createSession(quic, sessionOptions({ ...options, routers }, quic));
      sessions.add(session);
      void session.closed.then(() => sessions.delete(session));
      options.onSession?.(session);
    } catch (error) {
      // One peer's session is lost; the exception goes where an event listener's goes.
      quic.close({ closeCode: 1, reason: "the server could not take the session" });
      throw error;
    }
  };
  try {
    endpoint.listen({ alpn: [ALPN], tls, ...(transport !== undefined && { transport }) }, onSession);
  } catch (error) {
    await endpoint.close();
    throw error;
  }
  const close = (info?: CloseInfo): Promise<void> => endpoint.close(info);
  return {
    address: endpoint.address,
    sessions,
    close,
    ref: () => void endpoint.ref(),
    unref: () => void endpoint.unref(),
    [Symbol.asyncDispose]: () => close(),
  };
}

function sessionOptions<Context>(options: ServeOptions<Context>, quic: QuicSession): SessionOptions<Context> {
  const { routers, connection, onError, limits } = options;
  return {
    routers,
    ...(connection !== undefined && { connection: connection(quic) }),
    ...(onError !== undefined && { onError }),
    ...(limits !== undefined && { limits }),
  };
}
