import type { Connection } from "@quicrpc/core";
import { sessionStats } from "@quicrpc/core/measure";
import type { NetworkSample } from "./carrier.js";

/** The members of a connection that `NetworkWatch` uses. In a page, the connection also reports its transport. */
export interface WatchedConnection extends Pick<Connection, "state" | "session"> {
  readonly transport?: { readonly kind: string; readonly reason: string | undefined } | undefined;
}

export const SAMPLE_MS = 500;

/** Samples the state of a connection at intervals, and counts the connection's sessions. */
export class NetworkWatch {
  private readonly connection: WatchedConnection;
  private sessions = 0;
  private last: unknown = undefined;

  constructor(connection: WatchedConnection) {
    this.connection = connection;
  }

  async sample(): Promise<NetworkSample> {
    const { state, session, transport } = this.connection;
    if (session !== undefined && session !== this.last) {
      this.last = session;
      this.sessions++;
    }
    // QUIC measures the round-trip time itself.
    const isMeasured = session !== undefined && "stats" in session.transport;
    if (session !== undefined && !isMeasured) session.ping().catch(() => {});
    const error = state.status === "connecting" || state.status === "closed" ? state.error?.message : undefined;
    return {
      status: state.status,
      ...(error !== undefined && { error }),
      sessions: this.sessions,
      ...(transport !== undefined && { transport: transport.kind }),
      ...(transport?.reason !== undefined && { reason: transport.reason }),
      stats: session === undefined ? {} : await sessionStats(session),
    };
  }
}
