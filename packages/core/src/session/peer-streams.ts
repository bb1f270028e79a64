import type { Callee } from "../call/carrier.js";
import { PeerLane } from "../call/lanes/peer-lane.js";
import { STREAM_BYTES } from "../memory-budget.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import type { DirectStream, TransportSession } from "../transport/session.js";
import { StreamSorter } from "../transport/stream-sorter.js";
import * as StreamKind from "../wire/stream-kind.js";
import * as ResetCode from "../transport/close-codes.js";
import type { StreamSession } from "./stream-session.js";

/**
 * Returns the function that accepts the streams that the peer of `session` opens. The first bytes decide whether a
 * stream is a lane, a call, or belongs to another protocol.
 */
export function takePeerStreams(session: StreamSession<TransportSession>): (stream: DirectStream) => void {
  let open = 0;
  return (stream) => {
    const { settings, onForeign } = session;
    const { budget, limits, prefix } = settings;
    if (open >= limits.maxStreams || !budget.charge(STREAM_BYTES)) {
      if (open < limits.maxStreams) budget.release(STREAM_BYTES);
      stream.reset(ResetCode.TooManyStreams);
      stream.stopSending(ResetCode.TooManyStreams);
      return;
    }
    open++;
    const onOver = (): void => {
      open--;
      budget.release(STREAM_BYTES);
    };
    const accept = (handler: (channel: Channel) => FrameHandler): Channel => Channel.accept(stream, handler, settings);
    const channelOf = (kind: number): Channel | undefined => {
      const { callee } = session;
      if (kind === StreamKind.Lane) return accept((channel) => new PeerLane(1, () => channel, session, onOver));
      if (kind !== StreamKind.Call || !takesStreams(callee)) return undefined;
      return accept((channel) => callee.onStream(channel, onOver));
    };
    StreamSorter.sort(stream, { prefix, channelOf, onForeign, onUnclaimed: onOver });
  };
}

function takesStreams(callee: Callee): callee is Callee & Required<Pick<Callee, "onStream">> {
  return callee.onStream !== undefined;
}
