import { createSession, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import type { Arrival } from "../listen/listener.js";

/** A peer whose calls come without a session, one by one, as those of HTTP do. */
export interface CallsArrival extends Omit<Arrival, "transport"> {
  /** Credentials of the peer: `Peer.credentials`. */
  readonly credentials?: string | undefined;
}

/**
 * Lets a peer call the server's routers (`ListenSettings.methods` names them) without a session of its own: `authenticate`, `onSession`,
 * interceptors and limits hold as for any other. Calls of a peer that is refused fail with the reason. It is to be closed when
 * the peer is gone.
 */
export function callsOf({ credentials, ...arrival }: CallsArrival, onArrival: (arrival: Arrival) => void): Session {
  const [near, far] = createMemoryPair();
  const calls = createSession(near, credentials === undefined ? {} : { credentials });
  onArrival({ ...arrival, transport: far });
  return calls;
}
