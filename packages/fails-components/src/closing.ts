import type { PackageSession } from "./package.js";

/** Holder of a session: a connection, or a stream of one. */
export interface Holder {
  destroy(): unknown;
}

/**
 * The session, closed by letting go of its holder. Its own `close` ends the HTTP/2 stream and waits for the peer, which may
 * be gone; and where both sides do so at once, it destroys an ended stream that was not reset, for which Node's HTTP/2
 * sends empty frames without end. How a session ends has been said on its stream by then.
 */
export function lettingGo(session: PackageSession, holder: Holder): PackageSession {
  const { ready, closed, datagrams, incomingBidirectionalStreams, incomingUnidirectionalStreams } = session;
  return {
    ready,
    closed,
    datagrams,
    incomingBidirectionalStreams,
    incomingUnidirectionalStreams,
    createBidirectionalStream: () => session.createBidirectionalStream(),
    close: () => void holder.destroy(),
  };
}
