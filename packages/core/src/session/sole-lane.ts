import { Lane } from "../call/lanes/lane.js";
import type { LaneHost } from "../call/lanes/peer-lane.js";
import type { RpcError } from "../errors.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import type { SoleStream } from "../transport/session.js";
import { StreamSorter } from "../transport/stream-sorter.js";
import * as StreamKind from "../wire/stream-kind.js";

const NO_PREFIX = new Uint8Array(0);

/** The lane that is a whole session. */
export function soleLane(stream: SoleStream, host: LaneHost, onOver: (lane: unknown, error: RpcError) => void): Lane {
  const { settings } = host;
  if (stream.opener) return new Lane(0, Lane.on(stream, { ...settings, prefix: NO_PREFIX }), host, onOver);
  const accept = (lane: FrameHandler): Channel => {
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
  return new Lane(1, accept, host, onOver);
}
