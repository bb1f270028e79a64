import {
  type ByteStreamOptions,
  type CloseInfo,
  type ErrorHook,
  type PageGuard,
  refusalCode,
  type TransportSession,
} from "@quicrpc/core/transport";
import { type Limits, RpcError } from "@quicrpc/core";
import type {
  ClientCertificateOptions,
  ConnectionIdOptions,
  GroupMember,
  ListenTransportOptions,
  ServerCertificateOptions,
} from "@quicrpc/quic";
import type { AnyMethod } from "@quicrpc/core/generated";
import type { HandedConnections } from "./handed-connections.js";
import type { HttpRequests } from "./http-requests.js";
import type { TrustedProxies } from "./proxy-protocol.js";
import type { Peer } from "../peer.js";
import type { WebProtocol } from "../transport/provider.js";

/** Where to listen. */
export interface ListenTarget {
  readonly host: string | undefined;
  readonly port: number;
  /** Path of a Unix socket, or of the URL for WebSocket and WebTransport. */
  readonly path: string;
  /** Requests of plain HTTP/3 are taken at the UDP port of the same number. Default false. */
  readonly besideHttp3?: boolean;
  /** The socket of this worker, where the UDP port is that of a group. */
  readonly member?: GroupMember | undefined;
  /** A stream socket that was passed to this process and listens already: its descriptor. In the place of host, port and a Unix socket's path. */
  readonly descriptor?: number | undefined;
  /** Connections that the primary of this worker accepts from that socket. */
  readonly handed?: HandedConnections | undefined;
  /** The sockets of a UDP port that were passed to this process: their descriptors, of which it takes one. In the place of host and port. */
  readonly datagramDescriptors?: readonly number[] | undefined;
}

/** Protocols that a server offers on the TCP port beside each listener over UDP. */
export interface WebOffer {
  /** WebSocket, over HTTP/1.1. */
  readonly webSocket: boolean;
  /** Plain HTTP; undefined where requests are for upgrades only. */
  readonly http?: HttpRequests | undefined;
  /** Protocols of providers that were given. */
  readonly protocols: readonly WebProtocol[];
}

/** How to listen. Settings that a listener's transport cannot carry have been refused before. */
export interface ListenSettings {
  readonly tls: ServerCertificateOptions | readonly ServerCertificateOptions[] | undefined;
  readonly clientCertificates: ClientCertificateOptions | undefined;
  readonly earlyData: boolean;
  readonly secret: Uint8Array | undefined;
  readonly connectionIds: ConnectionIdOptions | undefined;
  /** Decides which pages may connect. */
  readonly pages: PageGuard;
  /** Receives what hooks threw. */
  readonly onError: ErrorHook;
  readonly transport: ListenTransportOptions | undefined;
  /** Whose TCP connections begin with a header of the PROXY protocol. */
  readonly trustedProxies: TrustedProxies | undefined;
  readonly limits: Limits;
  readonly web: WebOffer;
  /** Key by which several processes resume each other's sessions over QUIC; empty for a process of its own. */
  readonly ticketKeys: readonly Uint8Array[];
  /** A listener over UDP may be left out where there is no native engine. */
  readonly engineOptional: boolean;
  /** The methods that the server's routers have, for transports that find them by their names. */
  readonly methods: readonly AnyMethod[];
}

/** TLS settings that may change while a server runs; those that are left out stay as they are. */
export interface TlsUpdate {
  /** Replace all previous certificates. */
  readonly tls?: ServerCertificateOptions | readonly ServerCertificateOptions[];
  /** Options of clients' certificates; only where clients were asked for some from the start. */
  readonly clientCertificates?: ClientCertificateOptions;
}

/** Why a session is refused for which there is no room. */
export function noRoom(): RpcError {
  return new RpcError(
    "resource_exhausted",
    "the server has as many sessions as it takes (transport.maxSessions, maxSessionsPerAddress)",
  );
}

/** Options of a session over a byte stream, which finds its place when its peer has greeted. */
export function placed(
  visit: { greeted(): boolean },
  { maxCloseMs }: Limits,
  session: () => TransportSession,
): ByteStreamOptions {
  const onGreeted = (): void => {
    if (visit.greeted()) return;
    const { code, message } = noRoom();
    session().close({ closeCode: refusalCode(code), reason: message });
  };
  return { closeTimeoutMs: maxCloseMs, onGreeted };
}

/** The place of a session that is not admitted yet. */
export interface Admission {
  /** Milliseconds until it must be. */
  readonly remainingMs: number;
  /** It waits for `authenticate`, which has `remainingMs`. */
  arrived(): void;
  /** Calls `listener` when the peer has left, as far as that is known of a peer that nothing is read of. */
  onGone(listener: () => void): void;
  /** Lets so many bytes pass of what is held back: the client's greeting. Absent where a transport holds nothing back itself. */
  greet?(bytes: number): void;
  /** It may have a session if there is room for one more: returns whether there is. What was held back of it may pass. */
  admit(): boolean;
  /** It gets none, and a moment to take in why. */
  refuse(): void;
}

/** A peer whose greeting has not been read; `serve` adds what that says. */
export type ArrivingPeer = Omit<Peer, "credentials" | "metadata" | "proof">;

/** A transport session that a peer has opened; nothing of it has been read yet. */
export interface Arrival {
  readonly transport: TransportSession;
  readonly peer: ArrivingPeer;
  readonly visit: Admission;
  /** Why it is refused, whatever `authenticate` would say. */
  readonly refusal?: RpcError | undefined;
}

/** One address that takes sessions. */
export interface Listener {
  /** URL with the port that the listener has. */
  readonly url: string;
  readonly address: { readonly host: string; readonly port: number } | undefined;
  /** Whether it takes requests of plain HTTP/3. Default false. */
  readonly takesHttp3?: boolean;
  /** Takes no more sessions, as far as the transport can without ending those it has. */
  stop(): void;
  /** Ends what is left of its sessions, and fulfils when the address is free. */
  close(info?: CloseInfo): Promise<void>;
  /**
   * Takes the certificates of these settings for handshakes that begin from now on; undefined where there are none. Throws,
   * and leaves everything as it is, where one cannot be used.
   */
  updateTls?(settings: ListenSettings): void;
  ref(): void;
  unref(): void;
}
