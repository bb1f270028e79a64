import type { ClientSessionOptions, Credentials } from "@quicrpc/core/internal";
import type { DirectSession, ForeignClient, WebTransportSession } from "@quicrpc/core/transport";
import type { Limits } from "@quicrpc/core";

/** The platform's `WebTransport`; for a program whose `lib` has none, the part of it that a session uses. */
export type PlatformWebTransport = typeof globalThis extends { WebTransport: { readonly prototype: infer Found } }
  ? Found
  : WebTransportSession;

/** Transport sessions of a page. */
export type BrowserTransport = PlatformWebTransport | DirectSession;

/** A certificate to trust (W3C WebTransport §9.4), as `WebTransportHash` of lib `dom`. */
export interface CertificateHash {
  readonly algorithm: string;
  /** The hash's bytes, in memory that is not shared. */
  readonly value: ArrayBuffer | ArrayBufferView;
}

/** Name of a transport: "webtransport", "websocket", "http", or the name of a package's own. */
export type TransportKind = "webtransport" | "websocket" | "http" | (string & {});

/** The transport of a session, and the reason if it is not the first one. */
export interface TransportInUse {
  readonly kind: TransportKind;
  /** Reason why the first transport is not in use: the result of its last attempt; undefined if it is in use. */
  readonly reason: string | undefined;
  /**
   * Time of the next attempt with the first transport, in milliseconds since the epoch; undefined during an attempt,
   * and if none follows.
   */
  readonly retryAt: number | undefined;
}

/** A reached server: a transport for a session, or a client that carries calls without one. */
export type Reached = BrowserTransport | ForeignClient;

/** Returns true if calls are carried without a session. */
export function carriesCalls(reached: Reached): reached is ForeignClient {
  return !("openStream" in reached || "createBidirectionalStream" in reached);
}

/** Settings that a transport receives before it connects. */
export interface OpenSettings {
  /** Hashes of the certificates to trust; ignored by a transport that does not support them, such as a WebSocket. */
  readonly serverCertificateHashes: readonly CertificateHash[] | undefined;
}

/**
 * A transport for pages. `connect` and `dial` include WebTransport and WebSocket; the options `transport` and
 * `fallback.transport` accept others.
 */
export interface PageTransportProvider {
  readonly kind: TransportKind;
  /** Name for error messages: "WebTransport". */
  readonly name: string;
  /** The scheme of its URLs, to which the page's URL is changed if no other URL is given. */
  readonly scheme: "https:" | "wss:";
  /** Opens a session; rejects if that fails, or when the signal fires. A signal that fires later closes it. */
  open(url: URL, signal: AbortSignal, settings: OpenSettings): Promise<BrowserTransport>;
}

/** Options of a page that HTTP clients receive. */
export interface HttpSettings {
  readonly credentials?: Credentials | undefined;
  readonly limits?: Partial<Limits> | undefined;
}

/** Options of a page that require sessions. */
export type OfSessions = Pick<ClientSessionOptions, "metadata" | "proof">;

/** Makes calls without a session, over HTTP requests: `httpTransport()` of `@quicrpc/http`. */
export interface HttpProvider {
  /** Name for error messages: "HTTP". */
  readonly name: string;
  /** Creates a client, whose `ping` checks whether the server is reachable. */
  dial(url: URL, settings: HttpSettings): Promise<ForeignClient>;
}
