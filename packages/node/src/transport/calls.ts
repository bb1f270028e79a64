import { createSession, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import type { IncomingSession } from "../listen/listener.js";

/** A peer that makes single calls without a session, as HTTP does. */
export interface IncomingCallSource extends Omit<IncomingSession, "transport"> {
  /** Credentials of the peer, available as `Peer.credentials`. */
  readonly credentials?: string | undefined;
}

/**
 * Lets a peer call the server's routers (see `ListenSettings.methods`) without a session of its own. `authenticate`,
 * `onSession`, interceptors and limits apply as usual. If the peer is refused, its calls fail with the reason. Close it
 * when the peer disconnects.
 */
export function callsOf(
  { credentials, ...incoming }: IncomingCallSource,
  onIncoming: (incoming: IncomingSession) => void,
): Session {
  const [callerSide, routerSide] = createMemoryPair();
  const calls = createSession(callerSide, credentials === undefined ? {} : { credentials });
  onIncoming({ ...incoming, transport: routerSide });
  return calls;
}
