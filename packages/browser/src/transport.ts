import type {
  ClientSessionOptions,
  Credentials,
  DirectSession,
  ForeignClient,
  WebTransportSession,
} from "@quicrpc/core/transport";
import type { Limits } from "@quicrpc/core";

/** The platform's `WebTransport`; to a program whose `lib` has none, the part of it that a session uses. */
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

/** Which transport a session runs over, and why not over the first. */
export interface TransportInUse {
  readonly kind: TransportKind;
  /** Why the first transport is not in use: the result of its last attempt; undefined where it is in use. */
  readonly reason: string | undefined;
  /** When the first transport is tried again, in milliseconds since the epoch; undefined during an attempt, and where none follows. */
  readonly retryAt?: number;
}

/** A way that is ready: a transport for a session, or a client that carries calls without one. */
export type Reached = BrowserTransport | ForeignClient;

/** Whether calls are carried without a session. */
export function isClient(reached: Reached): reached is ForeignClient {
  return !("openStream" in reached || "createBidirectionalStream" in reached);
}

/** Settings that a transport gets before it connects. */
export interface OpenSettings {
  /** Hashes of the certificates to trust; a transport that can trust none passes them over, as a WebSocket does. */
  readonly serverCertificateHashes: readonly CertificateHash[] | undefined;
}

/**
 * One way for a page to reach its server. `connect` and `dial` have WebTransport and WebSocket; the options `transport` and
 * `fallback.transport` take others.
 */
export interface PageTransportProvider {
  readonly kind: TransportKind;
  /** The name in errors: "WebTransport". */
  readonly name: string;
  /** The scheme of its URLs: the page's URL is changed to it, where no other is given. */
  readonly scheme: "https:" | "wss:";
  /** Opens a session; rejects when it cannot, or when the signal fires. A signal that fires later closes it. */
  open(url: URL, signal: AbortSignal, settings: OpenSettings): Promise<BrowserTransport>;
}

/** Options of a page that clients of HTTP get. */
export interface HttpSettings {
  readonly credentials?: Credentials | undefined;
  readonly limits?: Partial<Limits> | undefined;
}

/** Options of a page that only go with sessions. */
export type OfSessions = Pick<ClientSessionOptions, "metadata" | "proof">;

/** A way to call without a session, by requests of HTTP: `httpTransport()` of `@quicrpc/http`. */
export interface HttpProvider {
  /** The name in errors: "HTTP". */
  readonly name: string;
  /** Makes a client, whose `ping` says whether the server is there. */
  dial(url: URL, settings: HttpSettings): Promise<ForeignClient>;
}
