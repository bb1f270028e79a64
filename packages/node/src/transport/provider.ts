import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { ForeignClient, TransportSession } from "@quicrpc/core/transport";
import type { Door } from "../listen/door.js";
import type { Arrival, Listener, ListenSettings, ListenTarget } from "../listen/listener.js";
import type { Guest } from "../listen/socket-server.js";
import type { TransportDialOptions } from "./dialling.js";

/** Abilities of a transport's sessions; those that are not named it lacks. Options that need one of them are refused. */
export interface TransportAbilities {
  /** Both sides may call. Without it only the client does: the option `routers` of a client is refused. */
  readonly sessions?: boolean;
  /** Each call may have a stream of its own. Without it all calls of a session share one byte stream. */
  readonly streams?: boolean;
  readonly datagrams?: boolean;
  /** The client's request has header fields: the option `headers`, and `Peer.headers`. */
  readonly headers?: boolean;
  /** The transport is encrypted by TLS: the options `ca`, `serverCertificateHashes` and `serverName`, and `tls` of `serve`. */
  readonly tls?: boolean;
  /** TLS in which a client may show a certificate: the options `cert` and `key`, and `clientCertificates` of `serve`. */
  readonly clientCertificates?: boolean;
  /** Calls may leave with the first flight, before the handshake is complete: the option `earlyData`. */
  readonly earlyData?: boolean;
  /** A balancer may put a header of the PROXY protocol before a connection: the option `trustedProxies` of `serve`. */
  readonly proxyHeader?: boolean;
}

/**
 * One way to carry sessions, or calls alone, chosen by the scheme of a URL. `serve`, `connect`, `dial` and `connectPool` have those of the
 * built-in schemes, and take others in their option `transports`, which come before the built-in ones.
 */
export interface TransportProvider {
  /** The name in messages and errors: "WebSocket". */
  readonly name: string;
  /** The schemes of the URLs that this provider takes, each with its colon: `["wss:"]`. */
  readonly schemes: readonly string[];
  readonly abilities: TransportAbilities;
  /** The port of a URL without one. Default 4433. */
  readonly defaultPort?: number;
  /**
   * Makes one session. Rejects when that fails, when `options.timeoutMs` are over or `options.signal` fires, and leaves
   * nothing open then. A provider without it is for servers alone.
   */
  readonly dial?: DialTransport;
  /**
   * Starts one or more listeners, which pass each session that arrives to `onArrival`, unread. Leaves none open when it
   * rejects. A provider without it is for clients alone.
   */
  readonly listen?: ListenTransport;
  /**
   * Adds a protocol to the TCP port beside each listener over UDP, where WebSockets are offered too: connections
   * of another protocol than HTTP/1.1, and requests to upgrade.
   */
  readonly webProtocol?: WebProtocol;
}

/**
 * Reaches the server that the URL names: makes a transport session, which this library's protocol runs over, or a client that carries
 * calls by a protocol of its own.
 */
export type DialTransport = (url: URL, options: TransportDialOptions) => Promise<TransportSession | ForeignClient>;

/** Starts the listeners of one URL. */
export type ListenTransport = (
  target: ListenTarget,
  settings: ListenSettings,
  onArrival: (arrival: Arrival) => void,
) => Promise<readonly Listener[]>;

/** A protocol on a TCP port for the web, beside WebSocket: starts to take its part of one listener's connections. */
export type WebProtocol = (
  path: string,
  settings: ListenSettings,
  door: Door,
  url: () => string,
  onArrival: (arrival: Arrival) => void,
) => Promise<WebAcceptor>;

/** Takes one protocol's part of the connections of a TCP port for the web. */
export interface WebAcceptor {
  /** The protocol that clients ask for in the TLS handshake (RFC 7301), such as "h2". */
  readonly alpn: string;
  /** Takes a connection that has chosen that protocol. */
  takeConnection(socket: TLSSocket, guest: Guest): void;
  /** Whether a request to upgrade is one of this protocol, rather than a WebSocket of this library's clients. */
  asks(request: IncomingMessage): boolean;
  /** The HTTP status that refuses such a request; undefined where it may pass. */
  refusal(request: IncomingMessage): number | undefined;
  /** Takes such a request, which was not refused. */
  takeUpgrade(request: IncomingMessage, head: Buffer, guest: Guest): void;
  /** Takes no more sessions. */
  stop(): void;
}
