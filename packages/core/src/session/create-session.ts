import { explainFault } from "../call/explain-fault.js";
import { completeLimits } from "../limits.js";
import { errorHook } from "../server/error-hook.js";
import { Serving } from "../server/serving.js";
import { foreignStreams } from "../transport/foreign-stream.js";
import type { TransportSession } from "../transport/session.js";
import { carrierSettings } from "./carrier-settings.js";
import { clientSideOf } from "./plain-settings.js";
import { BulkLane } from "./carriers/bulk-lane.js";
import { sayDeparture } from "./departure.js";
import type { SessionOptions } from "./options.js";
import type { SessionParts } from "./parts.js";
import { type RenewalOptions, ServerRenewal } from "./server-renewal.js";
import { LaneSession } from "./lane-session.js";
import { ServedEvents } from "./served-events.js";
import { takePeerStreams } from "./peer-streams.js";
import type { Session } from "./session.js";
import { SoleSession } from "./sole-session.js";

/**
 * Runs the protocol over a transport session, which both sides may call and serve on. For transports that `serve` and
 * `connect` do not make: ports of workers, pipes, sockets of your own. Throws `TypeError` for an unknown option, and when two
 * routers collide.
 *
 * @example
 * const session = createSession(messagePortTransport(port, "client"), { routers: [screen] });
 * const orders = createOrdersClient(session);
 */
export function createSession<Context = unknown, Transport extends TransportSession = TransportSession>(
  transport: Transport,
  options: SessionOptions<Context> = {},
): Session<Transport> {
  const { via, keepAlive = {}, onForeignStream, peer } = options;
  const limits = completeLimits(options.limits);
  const settings = carrierSettings(options, limits, options.load);
  const sole = "openStream" in transport ? transport.sole : undefined;
  const parts: SessionParts = {
    settings,
    via,
    peerStreams: takePeerStreams,
    explain: explainFault,
    peer,
    clientSide: clientSideOf(options, limits),
    serverRenewal: options.renewal && ((host) => new ServerRenewal(host, options.renewal as RenewalOptions<unknown>)),
    sayDeparture,
    callee: (host) => new Serving(host, options, settings),
    events: (host) => new ServedEvents(host, options.load),
    onForeign:
      onForeignStream &&
      foreignStreams(onForeignStream, (thrown) =>
        errorHook(options.onError, peer)(thrown, { method: "onForeignStream" }),
      ),
    bulkLane: sole === undefined ? newBulkLane : undefined,
  };
  const session =
    sole === undefined ? new LaneSession(transport, parts) : new SoleSession(transport, sole, keepAlive, parts);
  return session.open();
}

/** A separate function, because the session keeps it, and should not keep the session's options. */
function newBulkLane(session: LaneSession<TransportSession>): BulkLane {
  return new BulkLane(session);
}
