import { unserved } from "../call/lanes/unserved.js";
import { completeLimits } from "../limits.js";
import type { WebTransportSession } from "../transport/session.js";
import { plainSettings } from "./carrier-settings.js";
import type { ClientSessionOptions } from "./create-client-session.js";
import type { ClientSession } from "./session.js";
import { StreamSession } from "./stream-session.js";

/**
 * As `createClientSession`, with a stream for every call, whatever its `via`: cancelling is a reset, and flow control QUIC's own. It
 * opens no lane, hence neither drains nor pings; where the peer drains the session, it makes no more calls and says when it is done.
 */
export function createStreamSession<Transport extends WebTransportSession>(
  transport: Transport,
  { limits, prefix, peer }: Omit<ClientSessionOptions, "via" | "credentials"> = {},
): ClientSession<Transport> {
  const settings = plainSettings(completeLimits(limits), prefix === undefined ? {} : { prefix });
  return new StreamSession(transport, { settings, peer, callee: () => unserved }).open();
}
