import {
  DEFAULT_LIMITS,
  type Interceptor,
  type Router,
  type RpcError,
  type Session,
  type SessionOptions,
} from "@quicrpc/core";
import {
  ADVANCED_SESSION_OPTIONS,
  type AdvancedSessionOptions,
  type AllowedOrigins,
  type Awaitable,
  type LoadSheddingOptions,
  type OptionNames,
} from "@quicrpc/core/internal";
import type { ClientCertificateOptions, ConnectionIdOptions, ServerCertificateOptions } from "@quicrpc/quic";
import type { DevCertificate } from "./dev-certificate.js";
import type { ServeHttpOptions } from "./listen/http-package.js";
import type { HttpListener } from "./listen/http-requests.js";
import type { Peer } from "./peer.js";
import { QUIC_LISTEN_OPTIONS, type QuicListenOptions } from "./transport/keep-alive.js";
import type { TransportProvider } from "./transport/provider.js";

/**
 * Decides whether a client gets a session. The signal fires when the time for the decision is over, or when the client
 * has disconnected.
 */
export type Authenticate<Context> = (peer: Peer, signal: AbortSignal) => Awaitable<Context>;

/** Options of `serve`. */
export interface ServeOptions<Context = unknown> extends Pick<SessionOptions<Context>, "limits" | "onError"> {
  /** UDP port of `quic://`, used if `listen` is not set; 0 selects a free port. Default 4433. */
  readonly port?: number;
  /** Host address to listen on with `port`. Default: all addresses. */
  readonly host?: string;
  /**
   * URLs to listen on: `quic://0.0.0.0:4433`, `tls://[::]:4434`, `wss://0.0.0.0:443/rpc`, or without encryption
   * `tcp://`, `ws://`, `http://` and `unix:/path`. Port 0 selects a free port. `systemd:` uses all sockets that systemd
   * passed to the process. The name of each socket is its URL scheme (`FileDescriptorName=quic`). `systemd:wss/rpc`
   * uses the sockets named `wss`, with the path `/rpc`. Default: `quic://` at `host` and `port`.
   */
  readonly listen?: string | URL | readonly (string | URL)[];
  /**
   * Certificate chain and private key in PEM, or several, selected by server name; `devCertificate()` creates one for
   * development. Not needed for `tcp://`, `ws://` and `unix:`. Default: none.
   */
  readonly tls?: ServerCertificateOptions | readonly ServerCertificateOptions[];
  /**
   * Routers that generated code creates from handlers. Two routers with the same service or method cause a `TypeError`.
   */
  readonly routers: readonly Router<Context>[];
  /**
   * Decides whether a client gets a session, before any of its calls are read, within `limits.maxHandshakeMs`. The
   * returned value is `context.connection` in handlers. If it throws an `RpcError`, the session is refused and the
   * client's calls fail with that error. Default: every client is accepted, and `connection` is undefined.
   */
  readonly authenticate?: Authenticate<Context>;
  /**
   * Interceptors of incoming calls; the first is the outermost. For one router only, use `interceptRouter`. Default:
   * none.
   */
  readonly interceptors?: readonly Interceptor[];
  /**
   * Origins of web pages from other hosts that may connect by WebSocket or WebTransport, such as "https://app.example":
   * a list, or a predicate. Pages may always connect to the host that served them, with any scheme and port. Programs
   * that are not browsers may always connect. Default: none.
   */
  readonly allowedOrigins?: AllowedOrigins;
  /**
   * Also serves plain HTTP: on `wss://`, `ws://` and `http://` listeners, and for each `quic://` and `https://`
   * listener over HTTP/3 on its UDP port and on the TCP port with the same number. HTTP/2 is available with TLS.
   * Requires `@quicrpc/http`. `authenticate`, limits and the other options here apply to each request as to a session.
   * Pass an object for options of HTTP. A handler, such as `toNodeHandler(createFetchHandler({ routers }))`, has its
   * own options. The server itself answers `/healthz` and `/readyz`, and drains HTTP together with its sessions.
   * Default false.
   */
  readonly http?: boolean | ServeHttpOptions | HttpListener;
  /**
   * Additional endpoints over plain HTTP, such as `mcp()` of `@quicrpc/mcp` and `studio()` of `@quicrpc/studio`. If
   * there are any, `http` is true by default. Default: none.
   */
  readonly extensions?: readonly object[];
  /**
   * Also accepts WebSockets (`wss:`) from clients that cannot use UDP. For each `quic://` and `https://` listener, the
   * server listens on the TCP port with the same number, and with the same path. Default false.
   */
  readonly webSocket?: boolean;
  /**
   * Number of processes that serve, or "auto" for one per core. Each runs this same program and serves in this call.
   * The process that you started does not serve: it restarts workers that end, and its `Server` controls all of them.
   * Limits apply to each process. On Linux the kernel delivers packets to the workers; on other systems the main
   * process does. A program that forks workers with node:cluster calls `shareUdpPorts` instead. Default: this process
   * only.
   */
  readonly workers?: number | "auto";
  /** Options that few servers set. Default: none. */
  readonly advanced?: AdvancedServeOptions<Context>;
}

/** Options of `serve` that few servers set, including those of every session that it creates. */
export interface AdvancedServeOptions<Context = unknown>
  extends Omit<AdvancedSessionOptions<Context>, "connection" | "metadata" | "proof"> {
  /**
   * Whether `quic://` and `https://` require the native engine. With "optional", a platform without the engine skips
   * these UDP listeners and reports them to `onError`; all other listeners work, such as the WebSocket of `webSocket:
   * true`. Default "required".
   */
  readonly engine?: "required" | "optional";
  /**
   * Additional transports, which take precedence over the built-in ones. The first transport that supports a URL's
   * scheme listens on the URL. Default: none.
   */
  readonly transports?: readonly TransportProvider[];
  /**
   * At least 32 secret bytes that survive a restart. With a fixed secret, a server that restarts after a crash on the same
   * address and host ends its clients' QUIC sessions at once. Otherwise these sessions last until their idle timeouts.
   * Default: derived from the first certificate's private key. Set it if that key changes at a restart.
   */
  readonly secret?: Uint8Array;
  /**
   * Format of connection ids that let a balancer find this server after a client's address has changed: QUIC-LB, or
   * `QuicServerId` of AWS Network Load Balancers. Each server has its own `serverId`, which its workers share. Default:
   * random ids.
   */
  readonly connectionIds?: ConnectionIdOptions;
  /** Requests a certificate from clients (mutual TLS), available as `Peer.certificate`. Default: not requested. */
  readonly clientCertificates?: ClientCertificateOptions;
  /**
   * Maximum time in milliseconds for which a worker's event loop may be blocked. A worker that is blocked for longer,
   * also by a debugger, is killed and replaced, and `onError` reports it. At least 3000. Default: 30,000.
   */
  readonly workerHangTimeoutMs?: number;
  /**
   * Lets clients that connect again send calls together with their first packets over `quic://` (0-RTT). An attacker
   * who records these packets can send them again, so clients of this library send only calls of idempotent methods
   * this way. See `Peer.earlyData`. Default false.
   */
  readonly earlyData?: boolean;
  /**
   * Refuses calls under high load instead of answering them late. Clients can safely repeat refused calls on another
   * server. Default: none.
   */
  readonly loadShedding?: LoadSheddingOptions;
  /**
   * Host names of this server at which web pages may connect without TLS (`ws://`), such as the name of a proxy that
   * terminates TLS. IP addresses, `localhost`, the host in the listener's URL and hosts in `allowedOrigins` are always
   * permitted. The list prevents DNS rebinding, where a web page makes its own host name resolve to this machine.
   * Default: none.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Addresses and networks (`["10.0.0.0/8"]`) of balancers in front of this server. Their TCP connections begin with a
   * PROXY protocol header, version 1 or 2, which contains the client's address: `Peer.remoteAddress`. Connections from
   * them without a header are closed. A PROXY header from any other address is refused. Default: none.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * Milliseconds after which a session is drained, varied by up to a tenth. Calls in progress finish, and a client that
   * reconnects creates a new session. Use this behind a balancer: otherwise existing clients stay on the old servers,
   * and new servers receive none of them. Default: never.
   */
  readonly maxSessionAgeMs?: number;
  /**
   * Returns when a client's credentials expire: a date, or milliseconds since the epoch; undefined for never. Shortly
   * before that, a client whose option `credentials` is a function sends new credentials, and `authenticate` decides
   * about them. The session continues if `subjectOf` returns the same subject. Otherwise the session is drained, and a
   * client that reconnects sends new credentials. Default: never.
   */
  readonly expiresAt?: (connection: Context) => Date | number | undefined;
  /**
   * Returns the client's identity from the result of `authenticate`. All credentials of one session must have the same
   * identity; other credentials require a new session. If the result is undefined, credentials cannot be renewed within
   * a session. Default: `connection` if it is a string.
   */
  readonly subjectOf?: (connection: Context) => string | undefined;
  /**
   * Milliseconds for which calls in progress, including streams, may continue after the client's credentials have
   * expired. Default: 10,000.
   */
  readonly expiryGraceMs?: number;
  /**
   * Called with each new session, for example to call the client's methods or to wait for the end of the session.
   * Default: none.
   */
  readonly onSession?: (session: Session, peer: Peer) => void;
  /** Called with the reason and the client when a session is refused. Default: none. */
  readonly onRefused?: (error: RpcError, peer: Peer) => void;
  /**
   * Timeouts, windows and stream limits of QUIC connections. `maxSessions`, `maxSessionsPerAddress`, `maxHandshakes`
   * and `maxHandshakesPerAddress` apply to every listener of any transport. Default: `DEFAULT_TRANSPORT` of
   * `@quicrpc/quic`.
   */
  readonly transport?: QuicListenOptions;
}

export type ServeSettings<Context = unknown> = Omit<ServeOptions<Context>, "advanced"> & AdvancedServeOptions<Context>;

const CLIENT_CERTIFICATES: OptionNames<ClientCertificateOptions> = { ca: true, required: true };
const CONNECTION_IDS: OptionNames<ConnectionIdOptions> = { config: true, key: true, nonceBytes: true, serverId: true };
const LOAD_SHEDDING: OptionNames<LoadSheddingOptions> = { maxCalls: true, maxEventLoopDelayMs: true };
const HTTP: OptionNames<ServeHttpOptions> = {
  compressFrom: true,
  http3: true,
  maxBodyMs: true,
  maxUploadAgeMs: true,
  openApi: true,
  prefix: true,
  uploads: true,
};
/**
 * Option names of `tls`, including the fields of `DevCertificate`, because a development certificate can be passed as
 * it is.
 */
const TLS: OptionNames<ServerCertificateOptions & DevCertificate> = {
  cert: true,
  file: true,
  hash: true,
  key: true,
  names: true,
  validTo: true,
};

const { connection: _, metadata: __, proof: ___, ...ofSession } = ADVANCED_SESSION_OPTIONS;
const ADVANCED: OptionNames<AdvancedServeOptions> = {
  ...ofSession,
  allowedHosts: true,
  clientCertificates: CLIENT_CERTIFICATES,
  connectionIds: CONNECTION_IDS,
  earlyData: true,
  engine: true,
  expiresAt: true,
  expiryGraceMs: true,
  loadShedding: LOAD_SHEDDING,
  maxSessionAgeMs: true,
  onRefused: true,
  onSession: true,
  secret: true,
  subjectOf: true,
  transport: QUIC_LISTEN_OPTIONS,
  transports: true,
  trustedProxies: true,
  workerHangTimeoutMs: true,
};

export const SERVE_OPTIONS: OptionNames<ServeOptions> = {
  advanced: ADVANCED,
  allowedOrigins: true,
  authenticate: true,
  extensions: true,
  host: true,
  http: HTTP,
  interceptors: true,
  limits: DEFAULT_LIMITS,
  listen: true,
  onError: true,
  port: true,
  routers: true,
  tls: TLS,
  webSocket: true,
  workers: true,
};
