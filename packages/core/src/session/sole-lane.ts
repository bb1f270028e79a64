import type { Callee, CarrierSettings } from "../call/carrier.js";
import { Lane, type LaneOwner } from "../call/lane.js";
import { Channel } from "../transport/channel.js";
import type { SoleStream } from "../transport/session.js";
import { StreamSorter } from "../transport/stream-sorter.js";
import { StreamKind } from "../wire/frame.js";
import { KeepAlive, type KeepAliveOptions } from "./keep-alive.js";

const NO_PREFIX = new Uint8Array(0);

/** The lane that is a whole session, and what its transport does not do for it: the time for a greeting, and keep-alive. */
export interface SoleLane {
  readonly lane: Lane;
  /** The peer has greeted. */
  onHello(): void;
  /** The session has ended. */
  stop(): void;
}

/** @param probe sends a ping that nobody waits for */
export function soleLane(
  sole: SoleStream,
  callee: Callee,
  settings: CarrierSettings,
  owner: LaneOwner,
  keepAlive: KeepAliveOptions | false,
  probe: (lane: Lane) => void,
): SoleLane {
  const { maxHandshakeMs } = settings.limits;
  const handshake = setTimeout(
    () => sole.lose(new Error(`no hello within ${maxHandshakeMs} ms (limits.maxHandshakeMs)`)),
    maxHandshakeMs,
  );
  const lane = laneOf(sole, callee, settings, owner);
  const beat =
    keepAlive === false
      ? undefined
      : new KeepAlive(
          lane.channel,
          keepAlive,
          () => probe(lane),
          (error) => sole.lose(error),
        );
  return {
    lane,
    onHello: () => clearTimeout(handshake),
    stop() {
      clearTimeout(handshake);
      beat?.stop();
    },
  };
}

function laneOf(stream: SoleStream, callee: Callee, settings: CarrierSettings, owner: LaneOwner): Lane {
  if (stream.opener) return Lane.open(stream, callee, { ...settings, prefix: NO_PREFIX }, owner);
  const accept = (lane: Lane): Channel => {
    const channel = Channel.accept(stream, () => lane, settings);
    StreamSorter.sort(stream, {
      prefix: NO_PREFIX,
      channelOf: (kind) => (kind === StreamKind.Lane ? channel : undefined),
      onForeign: undefined,
      onUnclaimed: () => lane.onClosed(new Error("the peer never said that it speaks quicrpc")),
      early: channel,
    });
    return channel;
  };
  return new Lane(1, accept, callee, settings, owner);
}
