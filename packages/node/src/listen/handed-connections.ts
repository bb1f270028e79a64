import type { AddressInfo, Socket } from "node:net";

/** Connections that another process accepts and passes to this one. */
export interface HandedConnections {
  /** Address on which that process listens, as returned by `server.address()`. */
  readonly address: AddressInfo | string | null;
  /** Calls `take` with each connection until the returned function is called. Later ones are closed. */
  takenBy(take: (socket: Socket) => void): () => void;
}
