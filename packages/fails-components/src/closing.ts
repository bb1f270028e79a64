import type { PackageSession } from "./package.js";

/** A connection, or one stream of it, that carries a session. */
export interface Holder {
  destroy(): unknown;
}

/**
 * Returns `session` with a `close` that destroys its holder. The package's own `close` ends the HTTP/2 stream and waits
 * for a peer that may be gone. If both sides close at once, it also destroys an ended stream that was not reset, after
 * which Node's HTTP/2 sends empty frames forever. By the time `close` is called, the close reason has already been sent
 * on the stream.
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
