import { createSession, type Session } from "@quicrpc/core";
import { createMemoryPair } from "@quicrpc/core/transport";
import type { IncomingSession } from "../listen/listener.js";

/** A client that makes single calls without a session, as HTTP clients do. */
export interface IncomingCallSource extends Omit<IncomingSession, "transport"> {
  /** Credentials of the peer, available as `Peer.credentials`. */
  readonly credentials?: string | undefined;
}

/**
 * Lets a client of another protocol call the server's routers (see `ListenSettings.methods`). `authenticate`,
 * `onSession`, interceptors and limits apply as for a session. If the client is refused, its calls fail with the
 * reason. Call `close` on the result when the client disconnects.
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
