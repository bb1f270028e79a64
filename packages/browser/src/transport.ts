import type { DirectSession, WebTransportSession } from "@quicrpc/core/transport";

/** The platform's `WebTransport`; to a program whose `lib` has none, the part of it that a session uses. */
export type PlatformWebTransport = typeof globalThis extends { WebTransport: { readonly prototype: infer Found } }
  ? Found
  : WebTransportSession;

/** What the sessions of a page run over. */
export type BrowserTransport = PlatformWebTransport | DirectSession;

/** A certificate to trust (W3C WebTransport §9.4), as `WebTransportHash` of lib `dom`. */
export interface CertificateHash {
  readonly algorithm: string;
  /** Of memory that is not shared. */
  readonly value: ArrayBuffer | ArrayBufferView;
}

/** Which transport a session runs over, and why not over WebTransport. */
export interface TransportInUse {
  readonly kind: "webtransport" | "websocket" | "ponyfill";
  /** What became of WebTransport when it was last tried; undefined where it is in use. */
  readonly reason: string | undefined;
  /** When WebTransport is tried again, in milliseconds since the epoch; undefined during an attempt, and where none follows. */
  readonly retryAt?: number;
}

/** A transport that is ready for a session. */
export interface OpenTransport extends TransportInUse {
  readonly transport: BrowserTransport;
}

/** Opens a transport; rejects when it cannot, or when the signal fires. A signal that fires later closes it. */
export type Opener = (signal: AbortSignal) => Promise<BrowserTransport>;
