import type { AddressInfo, Socket } from "node:net";

/** Connections that another process accepts, and hands to this one. */
export interface HandedConnections {
  /** Where that process listens, as `server.address()` says it. */
  readonly address: AddressInfo | string | null;
  /** Calls `take` with each, until what this returns is called: those that come later are closed. */
  takenBy(take: (socket: Socket) => void): () => void;
}
