import type { DirectSession } from "@quicrpc/core";

/** What the sessions of a page run over. */
export type BrowserTransport = WebTransport | DirectSession;

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
