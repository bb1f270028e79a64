import { explainFault } from "../call/explain-fault.js";
import { completeLimits } from "../limits.js";
import { errorHook } from "../server/log-error.js";
import { Serving } from "../server/serving.js";
import { foreignStreams } from "../transport/foreign-stream.js";
import type { TransportSession } from "../transport/session.js";
import { carrierSettings } from "./carrier-settings.js";
import { clientSideOf } from "./plain-settings.js";
import { BulkLane } from "./bulk-lane.js";
import type { SessionOptions, SessionDrainOptions } from "./options.js";
import type { SessionParts } from "./parts.js";
import { type RenewalOptions, ServerRenewal } from "./server-renewal.js";
import { LaneSession } from "./lane-session.js";
import { acceptPeerStream } from "./peer-streams.js";
import type { Session } from "./session.js";
import { SoleSession } from "./sole-session.js";
import type { PeerLane } from "../call/lanes/peer-lane.js";
import type { ClientLimits } from "../client-limits.js";
import { MAX_ADDRESS_BYTES, type Departure, FINAL, TO, WITHIN } from "../wire/departure.js";
import * as GoawayStage from "../wire/goaway-stage.js";
import { writeField } from "../wire/head.js";
import { encodeText, type FrameWriter, varintLength, writeVarint } from "../wire/writer.js";

/**
 * Creates a session over a transport. Both sides may make and serve calls on it. For transports that `serve` and
 * `connect` do not create: ports of workers, pipes, your own sockets. Throws `TypeError` for an unknown option, or if
 * two routers serve the same method.
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
    acceptStream: acceptPeerStream,
    explain: explainFault,
    peer,
    clientSide: clientSideOf(options, limits),
    serverRenewal: options.renewal && ((host) => new ServerRenewal(host, options.renewal as RenewalOptions<unknown>)),
    sayDeparture,
    callee: (host) => new Serving(host, options, settings),
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

/** Creates the lane for large messages. A separate function, so that the session does not retain its options. */
function newBulkLane(session: LaneSession<TransportSession>): BulkLane {
  return new BulkLane(session);
}

/**
 * Tells the peer that this side starts to drain: the address of another server, and the time that calls in progress
 * have. Throws `TypeError` if the address is too long.
 */
export function sayDeparture(
  { to, final, timeoutMs = Infinity }: SessionDrainOptions,
  lane: () => PeerLane | undefined,
  { maxTimeoutMs }: ClientLimits,
): void {
  if (to !== undefined && new TextEncoder().encode(to).length > MAX_ADDRESS_BYTES)
    throw new TypeError(`the address of another server has more than ${MAX_ADDRESS_BYTES} bytes`);
  const withinMs = timeoutMs > maxTimeoutMs ? undefined : Math.max(0, Math.round(timeoutMs));
  lane()?.goaway(GoawayStage.Departing, (out) => writeDeparture(out, { to, withinMs, final }));
}

/**
 * Appends the fields of a goaway frame of the stage `Departing`. The URL `to` must have at most `MAX_ADDRESS_BYTES`
 * bytes.
 */
export function writeDeparture(out: FrameWriter, { to, withinMs, final }: Departure): void {
  if (withinMs !== undefined) {
    const value = new Uint8Array(varintLength(withinMs));
    writeVarint(value, 0, withinMs);
    writeField(out, WITHIN, value);
  }
  if (to !== undefined) writeField(out, TO, encodeText(to, MAX_ADDRESS_BYTES));
  if (final === true) writeField(out, FINAL, new Uint8Array(0));
}
