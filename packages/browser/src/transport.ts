import type { DirectSession } from "@quicrpc/core";

/** What the sessions of a page run over. */
export type BrowserTransport = WebTransport | DirectSession;

/** Which transport a session runs over, and why not over WebTransport. */
export interface TransportInUse {
  readonly kind: "webtransport" | "websocket" | "ponyfill";
  /** Why WebTransport could not be used; undefined where it is. */
  readonly reason: string | undefined;
}

/** A transport that is ready for a session. */
export interface OpenTransport extends TransportInUse {
  readonly transport: BrowserTransport;
}

/** Opens a transport; rejects when it cannot, or when the signal fires. A signal that fires later closes it. */
export type Opener = (signal: AbortSignal) => Promise<BrowserTransport>;
