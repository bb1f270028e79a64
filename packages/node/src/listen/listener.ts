import type { ErrorHook, PageGuard } from "@quicrpc/core/internal";
import { type ByteStreamOptions, type CloseInfo, refusalCode, type TransportSession } from "@quicrpc/core/transport";
import { type Limits, RpcError } from "@quicrpc/core";
import type {
  ClientCertificateOptions,
  ConnectionIdOptions,
  GroupMember,
  ListenTransportOptions,
  ServerCertificateOptions,
} from "@quicrpc/quic";
import type { AnyMethod } from "@quicrpc/core/generated";
import type { HttpRequests } from "./http-requests.js";
import type { TrustedProxies } from "./proxy-protocol.js";
import type { Peer } from "../peer.js";
import type { WebProtocol } from "../transport/provider.js";
import type { AddressInfo, Socket } from "node:net";

/** An address to listen on. */
export interface ListenTarget {
  readonly host: string | undefined;
  readonly port: number;
  /** Path of a Unix socket, or of the URL for WebSocket and WebTransport. */
  readonly path: string;
  /** True if the server also accepts plain HTTP/3 requests on the UDP port with the same number. Default false. */
  readonly sharesPortWithHttp3?: boolean;
  /** This worker's socket of the UDP port, if several workers share the port. */
  readonly member?: GroupMember | undefined;
  /**
   * Descriptor of a listening TCP or Unix socket that was passed to this process. It replaces `host`, `port` and the
   * path of a Unix socket.
   */
  readonly descriptor?: number | undefined;
  /** Connections that the primary process accepts on the passed socket and hands to this worker. */
  readonly handed?: HandedConnections | undefined;
  /**
   * Descriptors of the UDP sockets of a port that were passed to this process, which uses one of them. They replace
   * `host` and `port`.
   */
  readonly datagramDescriptors?: readonly number[] | undefined;
}

/** Protocols that a server offers on a TCP port with the same number as a UDP listener. */
export interface WebOffer {
  /** True if the server offers WebSocket, over HTTP/1.1. */
  readonly webSocket: boolean;
  /** Handler of plain HTTP requests. Undefined if the server accepts only upgrade requests. */
  readonly http?: HttpRequests | undefined;
  /** Additional protocols, from transport providers. */
  readonly protocols: readonly WebProtocol[];
}

/** Settings of a listener. The server has already rejected settings that the listener's transport does not support. */
export interface ListenSettings {
  readonly tls: ServerCertificateOptions | readonly ServerCertificateOptions[] | undefined;
  readonly clientCertificates: ClientCertificateOptions | undefined;
  readonly earlyData: boolean;
  readonly secret: Uint8Array | undefined;
  readonly connectionIds: ConnectionIdOptions | undefined;
  /** Decides which web pages may connect, by their origin. */
  readonly pages: PageGuard;
  /** Receives exceptions that the application's hooks throw. */
  readonly onError: ErrorHook;
  readonly transport: ListenTransportOptions | undefined;
  /** Addresses of balancers whose TCP connections begin with a PROXY protocol header. */
  readonly trustedProxies: TrustedProxies | undefined;
  readonly limits: Limits;
  readonly web: WebOffer;
  /** Keys with which several processes resume each other's QUIC sessions. Empty if a single process serves. */
  readonly ticketKeys: readonly Uint8Array[];
  /** If true, UDP listeners are skipped on platforms without the native engine. */
  readonly engineOptional: boolean;
  /** Methods of the server's routers, for transports that look methods up by name. */
  readonly methods: readonly AnyMethod[];
}

/** TLS settings that can change while a server runs. Omitted settings stay as they are. */
export interface TlsUpdate {
  /** Replaces all previous certificates. */
  readonly tls?: ServerCertificateOptions | readonly ServerCertificateOptions[];
  /**
   * Options of client certificates. Can only be changed if the server has requested client certificates from the start.
   */
  readonly clientCertificates?: ClientCertificateOptions;
}

export function noRoom(): RpcError {
  return new RpcError(
    "resource_exhausted",
    "the server has reached its limit of sessions (transport.maxSessions, maxSessionsPerAddress)",
  );
}

/**
 * Returns options for a byte stream session. When the peer has sent its greeting, the session is counted, or closed if
 * a session limit is reached.
 */
export function placed(
  pending: { greeted(): boolean },
  { maxCloseMs }: Limits,
  session: () => TransportSession,
): ByteStreamOptions {
  const onGreeted = (): void => {
    if (pending.greeted()) return;
    const { code, message } = noRoom();
    session().close({ closeCode: refusalCode(code), reason: message });
  };
  return { closeTimeoutMs: maxCloseMs, onGreeted };
}

/**
 * Admission of a session to a server: the place that the session uses in the server's limits until it is accepted or
 * refused.
 */
export interface PendingSession {
  /** Milliseconds in which the session must still be admitted. */
  readonly remainingMs: number;
  /** Stops the transport's own timer: `authenticate` is about to decide, within `remainingMs`. */
  arrived(): void;
  /** Calls `listener` when the peer has disconnected. A transport may not notice this while it reads nothing. */
  onGone(listener: () => void): void;
  /**
   * Delivers the first `bytes` bytes of the held data, so that the server can read the client's greeting. Undefined if
   * the transport does not hold data back itself.
   */
  greet?(bytes: number): void;
  /** Admits the session and delivers the held data. Returns false if there is no room. */
  admit(): boolean;
  /** Refuses the session and gives the peer some time to receive the reason. */
  refuse(): void;
}

/** A client whose greeting has not been read yet. `serve` adds the contents of the greeting. */
export type IncomingPeer = Omit<Peer, "credentials" | "metadata" | "proof">;

/** A transport session that a client has opened. The server has not read any of its data yet. */
export interface IncomingSession {
  readonly transport: TransportSession;
  readonly peer: IncomingPeer;
  readonly pending: PendingSession;
  /** Reason to refuse the session without calling `authenticate`. Undefined: none. */
  readonly refusal?: RpcError | undefined;
}

/** A listener of a server: an address that accepts sessions. */
export interface Listener {
  /** URL of the listener with the actual port. */
  readonly url: string;
  readonly address: { readonly host: string; readonly port: number } | undefined;
  /** True if the listener accepts plain HTTP/3 requests. Default false. */
  readonly takesHttp3?: boolean;
  /**
   * Stops accepting sessions. Some transports cannot do this without ending existing sessions; they accept sessions
   * until `close`.
   */
  stop(): void;
  /** Ends the remaining sessions, and resolves when the address is free. */
  close(info?: CloseInfo): Promise<void>;
  /**
   * Uses the certificates in `settings` for new handshakes. Throws without changing anything if a certificate cannot be
   * used. Undefined if the transport has no certificates.
   */
  updateTls?(settings: ListenSettings): void;
  ref(): void;
  unref(): void;
}

/** Connections that the primary process accepts and passes to this worker process. */
export interface HandedConnections {
  /** Address on which the primary process listens, as `server.address()` returns it. */
  readonly address: AddressInfo | string | null;
  /**
   * Calls `take` with each connection. Returns a function that stops this; connections that arrive afterwards are
   * closed.
   */
  takenBy(take: (socket: Socket) => void): () => void;
}
