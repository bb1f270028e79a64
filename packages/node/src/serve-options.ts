import type { Interceptor, Router, RpcError, Session, SessionOptions } from "@quicrpc/core";
import {
  type AllowedOrigins,
  type Awaitable,
  type LoadSheddingOptions,
  type OptionNames,
  SESSION_OPTIONS,
  type SessionEnd,
} from "@quicrpc/core/transport";
import type { ClientCertificateOptions, ConnectionIdOptions, ServerCertificateOptions } from "@quicrpc/quic";
import type { DevCertificate } from "./dev-certificate.js";
import type { HttpOptions } from "./listen/http-package.js";
import type { HttpListener } from "./listen/http-requests.js";
import type { Peer } from "./peer.js";
import { QUIC_LISTEN_OPTIONS, type QuicListenOptions } from "./transport/keep-alive.js";
import type { TransportProvider } from "./transport/provider.js";

/** Decides who may have a session. The signal fires when the time for it is over, or the peer is known to be gone. */
export type Authenticate<Context> = (peer: Peer, signal: AbortSignal) => Awaitable<Context>;

/** Options of `serve`: those of every session it makes, and its own. */
export interface ServeOptions<Context = unknown>
  extends Omit<
    SessionOptions<Context>,
    "connection" | "credentials" | "load" | "metadata" | "peer" | "proof" | "renewal" | "renewCredentials"
  > {
  /** UDP port of `quic://`, where `listen` is not given; 0 takes a free one. Default 4433. */
  readonly port?: number;
  /** Address to listen on there. Default: every address. */
  readonly host?: string;
  /**
   * URLs to listen on: `quic://0.0.0.0:4433`, `tls://[::]:4434`, `wss://0.0.0.0:443/rpc`, or without encryption
   * `tcp://`, `ws://`, `http://` and `unix:/path`. Port 0 takes a free one. `systemd:` takes the sockets that systemd
   * has passed, each named by its scheme (`FileDescriptorName=quic`). `systemd:wss/rpc` takes those of one name, with a
   * path. Default: `quic://` at `host` and `port`.
   */
  readonly listen?: string | URL | readonly (string | URL)[];
  /**
   * Whether a WebSocket (`wss:`) is offered beside each `quic://` and `https://`, for clients that UDP does not reach.
   * It has the TCP port of the same number and the same path. Default false.
   */
  readonly webSocket?: boolean;
  /**
   * Whether the services are served over plain HTTP too: at `wss://`, `ws://` and `http://`, and beside each `quic://`
   * and `https://` by HTTP/3 on its UDP port, and on the TCP port of the same number. There is HTTP/2 wherever there is
   * TLS. It needs `@quicrpc/http`. `authenticate`, limits and the other options here hold for each request as for a
   * session. Options of HTTP alone are given instead of true. A handler, such as `toNodeHandler(createFetchHandler({
   * routers }))`, has options of its own. The server itself answers `/healthz` and `/readyz`, and drains HTTP with
   * itself. Default false.
   */
  readonly http?: boolean | HttpOptions | HttpListener;
  /**
   * Whether `quic://` and `https://` need the native engine. "optional": on a platform without one their UDP ports are left out,
   * which is reported to `onError`, and what else there is serves, such as that of `webSocket: true`. Default "required".
   */
  readonly engine?: "required" | "optional";
  /** Transports beside the built-in ones; the first that takes a URL's scheme listens there. Default: none. */
  readonly transports?: readonly TransportProvider[];
  /**
   * Certificate chain and private key in PEM, or several, chosen by name; `devCertificate()` makes one for development.
   * Not needed for `tcp://`, `ws://` and `unix:`. Default: none.
   */
  readonly tls?: ServerCertificateOptions | readonly ServerCertificateOptions[];
  /**
   * At least 32 secret bytes, the same after a restart. By them a server that was killed and started again, on the same
   * address and host, ends its clients' sessions over QUIC at once. Without, these sessions last until their idle
   * timeouts. Default: derived from the first certificate's private key, so give it if that key is new after a restart.
   */
  readonly secret?: Uint8Array;
  /**
   * Connection ids over UDP by which a balancer finds this server wherever a client is: QUIC-LB, or `QuicServerId` of AWS Network Load Balancers. Each server
   * has a `serverId` of its own; its workers share it. Default: ids say nothing to a balancer.
   */
  readonly connectionIds?: ConnectionIdOptions;
  /** Asks clients for a certificate (mutual TLS): `Peer.certificate`. Default: none are asked for. */
  readonly clientCertificates?: ClientCertificateOptions;
  /** The routers that generated code makes of handlers. Two with the same service or method collide, which is a `TypeError`. */
  readonly routers: readonly Router<Context>[];
  /**
   * The number of processes that serve, or "auto" for one on each core. Each runs this same program, and in it this
   * call serves. The process that was started serves nothing itself: it keeps the others running, and its `Server` is
   * for all of them. Limits are each process's own. On Linux the kernel hands packets to the workers, elsewhere the
   * process that keeps them does. A program that forks workers itself, by node:cluster, calls `shareUdpPorts` instead.
   * Default: this process alone.
   */
  readonly workers?: number | "auto";
  /**
   * Milliseconds that a worker's event loop may be held up. A worker that says nothing for longer is ended, and another takes its place; `onError` is
   * told. From 3000; a debugger that halts a worker takes more. Default 30 s.
   */
  readonly workerStuckMs?: number;
  /**
   * Lets clients that come back send calls with their first flight, over `quic://` (0-RTT). Whoever records it can send it
   * again; clients of this library only make calls of idempotent methods so. `Peer.earlyData` tells. Default false.
   */
  readonly earlyData?: boolean;
  /** Around each call served; the first is the outermost. Those of one router alone go into `interceptRouter`. Default: none. */
  readonly interceptors?: readonly Interceptor[];
  /**
   * Decides who may have a session, before anything of it is read, within `limits.maxHandshakeMs`. What it returns is
   * `context.connection` in handlers. An `RpcError` refuses the session, and is what its calls fail with.
   * Default: everybody may, and `connection` is undefined.
   */
  readonly authenticate?: Authenticate<Context>;
  /** Refuses calls, as safe to make again elsewhere, rather than serving them late. Default: none. */
  readonly loadShedding?: LoadSheddingOptions;
  /**
   * Origins of pages of other hosts that may connect by WebSocket or WebTransport, such as "https://app.example": a list, or a
   * test. Pages of the host that they connect to always may, whatever their scheme and port; what is no browser
   * always may. Default: none.
   */
  readonly allowedOrigins?: AllowedOrigins;
  /**
   * Names of this server by which pages may connect without TLS (`ws://`), such as that of a proxy in front which ends
   * TLS. IP addresses, `localhost`, the host in the listener's URL and those in `allowedOrigins` need not be listed.
   * The reason: any page can have a name of its own resolve to this machine. Default: none.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Addresses and networks (`["10.0.0.0/8"]`) of balancers before this server. Their TCP connections begin with a
   * header of the PROXY protocol, version 1 or 2, which has the client's address: `Peer.remoteAddress`. A connection of
   * theirs without a header is closed. Headers from anywhere else are not believed. Default: none.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * Milliseconds, a tenth more or less, after which a session is drained: its calls in progress finish, and a client that heals dials
   * again. Where a balancer stands before several servers, new ones get no clients of the others without it. Default: never.
   */
  readonly maxSessionAgeMs?: number;
  /**
   * When a client's credentials expire: a date, or milliseconds since the epoch; undefined: never. Shortly before, a
   * client whose `credentials` are a function sends new ones, and `authenticate` decides about them. The session goes
   * on if `subjectOf` names the same client. Otherwise it is drained, and a client that heals comes back with new
   * `credentials`. Default: never.
   */
  readonly expiresAt?: (connection: Context) => Date | number | undefined;
  /**
   * Names who a client is, by what `authenticate` returned. A session has one subject: new credentials of another
   * subject need another session. Where it gives undefined, credentials are not renewed in a session. Default: `connection` where it is text.
   */
  readonly subjectOf?: (connection: Context) => string | undefined;
  /** Milliseconds after the expiry that calls in progress still have, streams among them. Default: 10,000. */
  readonly expiryGraceMs?: number;
  /** Called with each new session: to call the client, or to wait for its end. Default: none. */
  readonly onSession?: (session: Session, peer: Peer) => void;
  /** Called with each session that has ended. Default: none. */
  readonly onSessionEnd?: (end: SessionEnd, peer: Peer) => void;
  /** Called with each session that was refused. Default: none. */
  readonly onRefused?: (error: RpcError, peer: Peer) => void;
  /**
   * Timeouts, windows and stream limits of QUIC connections; `maxSessions`, `maxSessionsPerAddress`, `maxHandshakes` and
   * `maxHandshakesPerAddress` hold for each listener of any kind. Default: `DEFAULT_TRANSPORT` of `@quicrpc/quic`.
   */
  readonly transport?: QuicListenOptions;
}

const CLIENT_CERTIFICATES: OptionNames<ClientCertificateOptions> = { ca: true, required: true };
const CONNECTION_IDS: OptionNames<ConnectionIdOptions> = { config: true, key: true, nonceBytes: true, serverId: true };
const LOAD_SHEDDING: OptionNames<LoadSheddingOptions> = { maxCalls: true, maxEventLoopDelayMs: true };
/** A certificate for development may be given as it is. */
const TLS: OptionNames<ServerCertificateOptions & DevCertificate> = {
  cert: true,
  file: true,
  hash: true,
  key: true,
  names: true,
  validTo: true,
};

/** Names of all options, which `serve` checks. */
export const SERVE_OPTIONS: OptionNames<ServeOptions> = {
  allowedHosts: true,
  allowedOrigins: true,
  authenticate: true,
  clientCertificates: CLIENT_CERTIFICATES,
  codec: true,
  codecs: true,
  compression: SESSION_OPTIONS.compression,
  connectionIds: CONNECTION_IDS,
  earlyData: true,
  engine: true,
  expiresAt: true,
  expiryGraceMs: true,
  host: true,
  http: true,
  interceptors: true,
  keepAlive: SESSION_OPTIONS.keepAlive,
  limits: SESSION_OPTIONS.limits,
  listen: true,
  loadShedder: true,
  loadShedding: LOAD_SHEDDING,
  maxSessionAgeMs: true,
  onError: true,
  onForeignDatagram: true,
  onForeignStream: true,
  once: SESSION_OPTIONS.once,
  onRefused: true,
  onSession: true,
  onSessionEnd: true,
  port: true,
  prefix: true,
  principal: true,
  routers: true,
  secret: true,
  subjectOf: true,
  tls: TLS,
  transport: QUIC_LISTEN_OPTIONS,
  transports: true,
  trustedProxies: true,
  via: true,
  webSocket: true,
  workers: true,
  workerStuckMs: true,
};
