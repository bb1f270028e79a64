import { completeClientLimits } from "../client-limits.js";
import type { TransportSession, WebTransportSession } from "../transport/session.js";
import { plainSettings } from "./plain-settings.js";
import { type ClientSessionOptions, explainByLoaded } from "./create-client-session.js";
import type { StreamTaker } from "./peer-streams.js";
import type { ClientSession } from "./session.js";
import { StreamSession } from "./stream-session.js";
import * as ResetCode from "../transport/close-codes.js";

/**
 * Like `createClientSession`, with a stream for every call, whatever its `via`: cancelling is a reset, and QUIC
 * controls the flow. It opens no lane, so it neither drains nor pings. If the peer drains the session, it makes no more
 * calls and reports when its last call is over.
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
    peerStreams: loadPeerStreams,
    explain: explainByLoaded,
  }).open();
}

/** Loads the code that accepts the peer's streams with the first of them, because the peer of a session that only calls opens few. */
function loadPeerStreams(session: StreamSession<TransportSession>): StreamTaker {
  let loading: Promise<StreamTaker> | undefined;
  return {
    accept(stream) {
      loading ??= import("./loaded-later.js").then(({ takePeerStreams }) => takePeerStreams(session));
      loading.then(
        (taker) => taker.accept(stream),
        () => {
          stream.reset(ResetCode.UnknownKind);
          stream.stopSending(ResetCode.UnknownKind);
        },
      );
    },
  };
}
