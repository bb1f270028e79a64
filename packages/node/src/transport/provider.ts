import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { ForeignClient, TransportSession } from "@quicrpc/core/transport";
import type { ConnectionLimiter } from "../listen/connection-limiter.js";
import type { IncomingSession, Listener, ListenSettings, ListenTarget } from "../listen/listener.js";
import type { AcceptedSocket } from "../listen/socket-server.js";
import type { TransportDialOptions } from "./dialling.js";

/**
 * Capabilities of a transport. A missing capability is not supported, and options that require it cause a `TypeError`.
 */
export interface TransportCapabilities {
  /** Both sides can call each other. Otherwise only the client can call, and its option `routers` is rejected. */
  readonly sessions?: boolean;
  /** Each call can use its own stream. Otherwise all calls of a session share one byte stream. */
  readonly streams?: boolean;
  readonly datagrams?: boolean;
  /** The client's request has header fields. Enables the client's option `headers`, and `Peer.headers`. */
  readonly headers?: boolean;
  /**
   * The transport uses TLS. Enables the client's options `ca`, `serverCertificateHashes` and `serverName`, and `tls` of
   * `serve`.
   */
  readonly tls?: boolean;
  /**
   * Clients can present a TLS certificate. Enables the client's options `cert` and `key`, and `clientCertificates` of
   * `serve`.
   */
  readonly clientCertificates?: boolean;
  /** Calls can be sent before the handshake is complete (0-RTT). Enables the option `earlyData`. */
  readonly earlyData?: boolean;
  /**
   * A balancer can send a PROXY protocol header at the start of a connection. Enables the option `trustedProxies` of
   * `serve`.
   */
  readonly proxyHeader?: boolean;
}

/**
 * A transport for sessions, or for calls only, selected by URL scheme. `serve`, `connect`, `dial` and `connectPool`
 * have built-in providers. Providers in their option `transports` take precedence.
 */
export interface TransportProvider {
  /** Name of the transport in messages and errors, such as "WebSocket". */
  readonly name: string;
  /** Supported URL schemes, each with its colon: `["wss:"]`. */
  readonly schemes: readonly string[];
  readonly capabilities: TransportCapabilities;
  /** Port of a URL without one. Default 4433. */
  readonly defaultPort?: number;
  /**
   * Creates one session. Rejects if this fails, after `options.timeoutMs`, or when `options.signal` fires, and leaves
   * nothing open in that case. Undefined if the provider only supports servers.
   */
  readonly dial?: DialTransport;
  /**
   * Starts one or more listeners. They pass each incoming session to `onIncoming` before they read any of its data.
   * Leaves no listener open if it rejects. Undefined if the provider only supports clients.
   */
  readonly listen?: ListenTransport;
  /**
   * Additional protocol for TCP ports that also accept WebSockets. Handles connections whose clients negotiated this
   * protocol in TLS, and upgrade requests. Undefined: none.
   */
  readonly webProtocol?: WebProtocol;
}

/**
 * Connects to the server of a URL. Resolves with a transport session for this library's protocol, or with a client that
 * carries calls with a protocol of its own.
 */
export type DialTransport = (url: URL, options: TransportDialOptions) => Promise<TransportSession | ForeignClient>;

/** Starts the listeners for one URL. */
export type ListenTransport = (
  target: ListenTarget,
  settings: ListenSettings,
  onIncoming: (incoming: IncomingSession) => void,
) => Promise<readonly Listener[]>;

/** Starts an additional protocol on a TCP port. Returns the handler of the connections that use this protocol. */
export type WebProtocol = (
  path: string,
  settings: ListenSettings,
  limiter: ConnectionLimiter,
  url: () => string,
  onIncoming: (incoming: IncomingSession) => void,
) => Promise<WebAcceptor>;

/** Handles the connections of a TCP port that use one additional protocol. */
export interface WebAcceptor {
  /** Protocol name that clients request in the TLS handshake (RFC 7301), such as "h2". */
  readonly alpn: string;
  /** Takes over a TLS connection whose client negotiated the protocol. */
  takeConnection(socket: TLSSocket, accepted: AcceptedSocket): void;
  /** Returns true if an upgrade request belongs to this protocol, and not to a WebSocket client of this library. */
  asks(request: IncomingMessage): boolean;
  /** Returns the HTTP status with which to refuse an upgrade request of this protocol, or undefined to accept it. */
  refusal(request: IncomingMessage): number | undefined;
  /** Takes over the connection of an accepted upgrade request. */
  takeUpgrade(request: IncomingMessage, head: Buffer, accepted: AcceptedSocket): void;
  /** Stops accepting new connections and sessions. */
  stop(): void;
}
