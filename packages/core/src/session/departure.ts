import type { PeerLane } from "../call/lanes/peer-lane.js";
import type { ClientLimits } from "../client-limits.js";
import { MAX_ADDRESS_BYTES } from "../wire/departure.js";
import * as GoawayStage from "../wire/goaway-stage.js";
import { writeDeparture } from "../wire/write-departure.js";
import type { SessionDrainOptions } from "./options.js";

/**
 * Tells the peer where to make further calls when this side drains, and how much time the calls in progress have.
 * Throws `TypeError` if the address is too long.
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
