import type { ClientSessionOptions, Credentials } from "@quicrpc/core/internal";
import type { DirectSession, ForeignClient, WebTransportSession } from "@quicrpc/core/transport";
import type { Limits } from "@quicrpc/core";

/**
 * The platform's `WebTransport` type. If the `lib` of the program's tsconfig.json has none, the members that a session
 * uses.
 */
export type PlatformWebTransport = typeof globalThis extends { WebTransport: { readonly prototype: infer Found } }
  ? Found
  : WebTransportSession;

/** Types of transport sessions that a page uses. */
export type BrowserTransport = PlatformWebTransport | DirectSession;

/** Hash of a certificate to trust (W3C WebTransport §9.4), as `WebTransportHash` in the TypeScript library `dom`. */
export interface CertificateHash {
  readonly algorithm: string;
  /** Bytes of the hash. They must not be in shared memory. */
  readonly value: ArrayBuffer | ArrayBufferView;
}

/** Name of a transport: "webtransport", "websocket", "http", or the name of a custom transport. */
export type TransportKind = "webtransport" | "websocket" | "http" | (string & {});

/** Transport of a session. If it is not the first transport, also the reason. */
export interface TransportInUse {
  readonly kind: TransportKind;
  /** Reason why the first transport is not in use: the failure of its last attempt. Undefined if it is in use. */
  readonly reason: string | undefined;
  /**
   * Time of the next attempt with the first transport, in milliseconds since the epoch. Undefined during an attempt,
   * and if there will be none.
   */
  readonly retryAt: number | undefined;
}

/** Connection to a server: a transport session, or a client that carries calls without a session. */
export type Reached = BrowserTransport | ForeignClient;

export function carriesCalls(reached: Reached): reached is ForeignClient {
  return !("openStream" in reached || "createBidirectionalStream" in reached);
}

/** Settings that a transport receives when it is opened. */
export interface OpenSettings {
  /** Hashes of the certificates to trust. Ignored by transports that do not support them, such as a WebSocket. */
  readonly serverCertificateHashes: readonly CertificateHash[] | undefined;
}

/**
 * A transport for pages. `connect` and `dial` have built-in providers for WebTransport and WebSocket. Others can be
 * passed in the options `transport` and `fallback.transport`.
 */
export interface PageTransportProvider {
  readonly kind: TransportKind;
  /** Name of the transport for error messages, such as "WebTransport". */
  readonly name: string;
  /** URL scheme of the transport. If no other URL is given, the connection's URL is used with this scheme. */
  readonly scheme: "https:" | "wss:";
  /**
   * Opens a transport session. Rejects if that fails, or when the signal fires. If the signal fires later, closes the
   * session.
   */
  open(url: URL, signal: AbortSignal, settings: OpenSettings): Promise<BrowserTransport>;
}

/** Options of a page that are passed to a client for calls over HTTP. */
export interface HttpSettings {
  readonly credentials?: Credentials | undefined;
  readonly limits?: Partial<Limits> | undefined;
}

/** Options of a page that are only available in sessions. */
export type OfSessions = Pick<ClientSessionOptions, "metadata" | "proof">;

/** Makes calls over HTTP requests without a session: `httpTransport()` of `@quicrpc/http`. */
export interface HttpProvider {
  /** Name of the transport for error messages, such as "HTTP". */
  readonly name: string;
  /** Creates a client for calls over HTTP. Its `ping` checks whether the server can be reached. */
  dial(url: URL, settings: HttpSettings): Promise<ForeignClient>;
}
