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
  /** Plain HTTP/3 requests are accepted on the UDP port of the same number. Default false. */
  readonly sharesPortWithHttp3?: boolean;
  /** Socket of this worker, if the UDP port belongs to a group. */
  readonly member?: GroupMember | undefined;
  /**
   * Descriptor of a listening stream socket that was passed to this process. Replaces host, port and the path of a Unix
   * socket.
   */
  readonly descriptor?: number | undefined;
  /** Connections that the primary of this worker accepts on that socket. */
  readonly handed?: HandedConnections | undefined;
  /**
   * Descriptors of the sockets of a UDP port that were passed to this process, which uses one of them. Replaces host
   * and port.
   */
  readonly datagramDescriptors?: readonly number[] | undefined;
}

/** Protocols that a server offers on the TCP port next to each UDP listener. */
export interface WebOffer {
  /** WebSocket, over HTTP/1.1. */
  readonly webSocket: boolean;
  /** Plain HTTP, or undefined if only upgrade requests are accepted. */
  readonly http?: HttpRequests | undefined;
  /** Protocols of the given providers. */
  readonly protocols: readonly WebProtocol[];
}

/** Settings of a listener. Settings that its transport does not support were refused earlier. */
export interface ListenSettings {
  readonly tls: ServerCertificateOptions | readonly ServerCertificateOptions[] | undefined;
  readonly clientCertificates: ClientCertificateOptions | undefined;
  readonly earlyData: boolean;
  readonly secret: Uint8Array | undefined;
  readonly connectionIds: ConnectionIdOptions | undefined;
  /** Decides which web pages may connect. */
  readonly pages: PageGuard;
  /** Receives exceptions of hooks. */
  readonly onError: ErrorHook;
  readonly transport: ListenTransportOptions | undefined;
  /** Addresses whose TCP connections begin with a PROXY protocol header. */
  readonly trustedProxies: TrustedProxies | undefined;
  readonly limits: Limits;
  readonly web: WebOffer;
  /** Keys with which several processes resume each other's QUIC sessions; empty for a single process. */
  readonly ticketKeys: readonly Uint8Array[];
  /** If true, UDP listeners are skipped on platforms without the native engine. */
  readonly engineOptional: boolean;
  /** Methods of the server's routers, for transports that look them up by name. */
  readonly methods: readonly AnyMethod[];
}

/** TLS settings that can change while a server runs. Omitted settings stay as they are. */
export interface TlsUpdate {
  /** Replaces all previous certificates. */
  readonly tls?: ServerCertificateOptions | readonly ServerCertificateOptions[];
  /** Options of client certificates. Only if client certificates were requested from the start. */
  readonly clientCertificates?: ClientCertificateOptions;
}

/** Creates the error for a session that is refused because there is no room. */
export function noRoom(): RpcError {
  return new RpcError(
    "resource_exhausted",
    "the server has reached its limit of sessions (transport.maxSessions, maxSessionsPerAddress)",
  );
}

/** Returns session options for a byte stream, whose place is confirmed when its peer has sent its greeting. */
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

/** Place of a session that is not admitted yet. */
export interface PendingSession {
  /** Milliseconds left until it must be admitted. */
  readonly remainingMs: number;
  /** The session waits for `authenticate`, which has `remainingMs`. */
  arrived(): void;
  /** Calls `listener` when the peer has disconnected, as far as that can be known while nothing is read. */
  onGone(listener: () => void): void;
  /**
   * Lets `bytes` bytes of the held data through: the client's greeting. Undefined if the transport holds nothing back
   * itself.
   */
  greet?(bytes: number): void;
  /** Admits the session if there is room, and returns whether there is. Releases the held data. */
  admit(): boolean;
  /** Refuses the session, and leaves the peer some time to receive the reason. */
  refuse(): void;
}

/** A peer whose greeting has not been read. `serve` adds the greeting's content. */
export type IncomingPeer = Omit<Peer, "credentials" | "metadata" | "proof">;

/** A transport session that a peer has opened. Nothing of it has been read yet. */
export interface IncomingSession {
  readonly transport: TransportSession;
  readonly peer: IncomingPeer;
  readonly pending: PendingSession;
  /** Reason to refuse the session regardless of `authenticate`. */
  readonly refusal?: RpcError | undefined;
}

/** An address that accepts sessions. */
export interface Listener {
  /** URL with the actual port. */
  readonly url: string;
  readonly address: { readonly host: string; readonly port: number } | undefined;
  /** True if it accepts plain HTTP/3 requests. Default false. */
  readonly takesHttp3?: boolean;
  /** Stops accepting sessions, as far as the transport can do that without ending existing ones. */
  stop(): void;
  /** Ends the remaining sessions, and fulfils when the address is free. */
  close(info?: CloseInfo): Promise<void>;
  /**
   * Uses the certificates of these settings for handshakes that start from now on. Undefined if the transport has no
   * certificates. Throws without changing anything if a certificate cannot be used.
   */
  updateTls?(settings: ListenSettings): void;
  ref(): void;
  unref(): void;
}

/** Connections that another process accepts and passes to this one. */
export interface HandedConnections {
  /** Address on which that process listens, as returned by `server.address()`. */
  readonly address: AddressInfo | string | null;
  /** Calls `take` with each connection until the returned function is called. Later ones are closed. */
  takenBy(take: (socket: Socket) => void): () => void;
}
