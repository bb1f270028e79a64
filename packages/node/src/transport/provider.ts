import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { ForeignClient, TransportSession } from "@quicrpc/core/transport";
import type { ConnectionLimiter } from "../listen/connection-limiter.js";
import type { IncomingSession, Listener, ListenSettings, ListenTarget } from "../listen/listener.js";
import type { AcceptedSocket } from "../listen/socket-server.js";
import type { TransportDialOptions } from "./dialling.js";

/** Capabilities of a transport's sessions; omitted capabilities are not supported. Options that need a missing capability are refused. */
export interface TransportCapabilities {
  /** Both sides can call. Without it only the client can, and a client's option `routers` is refused. */
  readonly sessions?: boolean;
  /** Each call can have its own stream. Without it all calls of a session share one byte stream. */
  readonly streams?: boolean;
  readonly datagrams?: boolean;
  /** The client's request has header fields: the option `headers`, and `Peer.headers`. */
  readonly headers?: boolean;
  /** The transport uses TLS: the options `ca`, `serverCertificateHashes` and `serverName`, and `tls` of `serve`. */
  readonly tls?: boolean;
  /** Clients can present a TLS certificate: the options `cert` and `key`, and `clientCertificates` of `serve`. */
  readonly clientCertificates?: boolean;
  /** Calls can be sent in the first flight, before the handshake is complete: the option `earlyData`. */
  readonly earlyData?: boolean;
  /**
   * A balancer can send a PROXY protocol header at the start of a connection: the option `trustedProxies` of `serve`.
   */
  readonly proxyHeader?: boolean;
}

/**
 * A transport for sessions, or for calls only, selected by URL scheme. `serve`, `connect`, `dial` and `connectPool`
 * have built-in ones and accept others in the option `transports`, which take precedence.
 */
export interface TransportProvider {
  /** Name in messages and errors, such as "WebSocket". */
  readonly name: string;
  /** Supported URL schemes with colons: `["wss:"]`. */
  readonly schemes: readonly string[];
  readonly capabilities: TransportCapabilities;
  /** Port of a URL without one. Default 4433. */
  readonly defaultPort?: number;
  /**
   * Creates one session. Rejects if that fails, after `options.timeoutMs`, or when `options.signal` fires, and then
   * leaves nothing open. Undefined for a provider for servers only.
   */
  readonly dial?: DialTransport;
  /**
   * Starts one or more listeners, which pass each incoming session to `onIncoming`, unread. Leaves none open when it
   * rejects. Undefined for a provider for clients only.
   */
  readonly listen?: ListenTransport;
  /**
   * Adds a protocol to the TCP port next to each UDP listener, where WebSockets are offered too. It handles connections
   * that negotiated a protocol other than HTTP/1.1, and upgrade requests.
   */
  readonly webProtocol?: WebProtocol;
}

/**
 * Connects to the server of a URL. Returns a transport session for this library's protocol, or a client that carries
 * calls with its own protocol.
 */
export type DialTransport = (url: URL, options: TransportDialOptions) => Promise<TransportSession | ForeignClient>;

/** Starts the listeners of one URL. */
export type ListenTransport = (
  target: ListenTarget,
  settings: ListenSettings,
  onIncoming: (incoming: IncomingSession) => void,
) => Promise<readonly Listener[]>;

/** A protocol on a TCP port, in addition to WebSocket. Starts handling its share of a listener's connections. */
export type WebProtocol = (
  path: string,
  settings: ListenSettings,
  limiter: ConnectionLimiter,
  url: () => string,
  onIncoming: (incoming: IncomingSession) => void,
) => Promise<WebAcceptor>;

/** Handles one protocol's share of the connections of a TCP port. */
export interface WebAcceptor {
  /** Protocol that clients request in the TLS handshake (RFC 7301), such as "h2". */
  readonly alpn: string;
  /** Takes over a connection that negotiated that protocol. */
  takeConnection(socket: TLSSocket, accepted: AcceptedSocket): void;
  /**
   * Returns true if an upgrade request belongs to this protocol, rather than to a WebSocket of this library's clients.
   */
  asks(request: IncomingMessage): boolean;
  /** Returns the HTTP status that refuses such a request, or undefined to accept it. */
  refusal(request: IncomingMessage): number | undefined;
  /** Takes over such a request after it was accepted. */
  takeUpgrade(request: IncomingMessage, head: Buffer, accepted: AcceptedSocket): void;
  /** Stops accepting sessions. */
  stop(): void;
}
