import { completeClientLimits } from "../client-limits.js";
import type { DirectStream, TransportSession, WebTransportSession } from "../transport/session.js";
import { plainSettings } from "./plain-settings.js";
import { type ClientSessionOptions, explainByLoaded } from "./create-client-session.js";
import type { ClientSession } from "./session.js";
import { StreamSession } from "./stream-session.js";
import * as ResetCode from "../transport/close-codes.js";

/**
 * Creates a session for a side that only makes calls, each on its own stream, whatever its `via`. The session has no
 * `drain` and no `ping`, because it opens no shared stream. If the peer drains the session, it makes no more calls, and
 * reports when its last call has ended.
 */
export function createStreamSession<Transport extends WebTransportSession>(
  transport: Transport,
  {
    limits,
    prefix,
    peer,
  }: Omit<ClientSessionOptions, "via" | "credentials" | "metadata" | "proof" | "renewCredentials"> = {},
): ClientSession<Transport> {
  const settings = plainSettings(completeClientLimits(limits), { prefix });
  return new StreamSession(transport, {
    settings,
    peer,
    acceptStream: loadAndAccept,
    explain: explainByLoaded,
  }).open();
}

/** Loads the code for accepting the peer's streams, because the peer of such a session rarely opens one. */
function loadAndAccept(session: StreamSession<TransportSession>, stream: DirectStream): void {
  import("./loaded-later.js").then(
    ({ acceptPeerStream }) => acceptPeerStream(session, stream),
    () => {
      stream.reset(ResetCode.UnknownKind);
      stream.stopSending(ResetCode.UnknownKind);
    },
  );
}
