import type { Callee } from "../call/carrier.js";
import { PeerLane } from "../call/lanes/peer-lane.js";
import { STREAM_BYTES } from "../memory-budget.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import type { DirectStream, TransportSession } from "../transport/session.js";
import { StreamSorter } from "../transport/stream-sorter.js";
import * as StreamKind from "../wire/stream-kind.js";
import * as ResetCode from "../transport/close-codes.js";
import type { StreamSession } from "./stream-session.js";

/** Accepts the streams that the peer opens. */
export interface StreamTaker {
  accept(stream: DirectStream): void;
}

/**
 * Accepts the streams that the peer opens. The first bytes decide whether a stream is a lane, a call, or belongs to
 * another protocol.
 */
class PeerStreams implements StreamTaker {
  #open = 0;
  readonly #session: StreamSession<TransportSession>;

  constructor(session: StreamSession<TransportSession>) {
    this.#session = session;
  }

  accept(stream: DirectStream): void {
    const { settings, onForeign } = this.#session;
    const { budget, limits } = settings;
    if (this.#open >= limits.maxStreams || !budget.charge(STREAM_BYTES)) {
      if (this.#open < limits.maxStreams) budget.release(STREAM_BYTES);
      stream.reset(ResetCode.TooManyStreams);
      stream.stopSending(ResetCode.TooManyStreams);
      return;
    }
    this.#open++;
    const onOver = (): void => {
      this.#open--;
      budget.release(STREAM_BYTES);
    };
    const channelOf = (kind: number): Channel | undefined => this.#channelOf(kind, stream, onOver);
    StreamSorter.sort(stream, { prefix: settings.prefix, channelOf, onForeign, onUnclaimed: onOver });
  }

  #channelOf(kind: number, stream: DirectStream, onOver: () => void): Channel | undefined {
    const { callee, settings } = this.#session;
    const accept = (handler: (channel: Channel) => FrameHandler): Channel => Channel.accept(stream, handler, settings);
    if (kind === StreamKind.Lane) return accept((channel) => new PeerLane(1, () => channel, this.#session, onOver));
    if (kind !== StreamKind.Call || !takesStreams(callee)) return undefined;
    return accept((channel) => callee.onStream(channel, onOver));
  }
}

function takesStreams(callee: Callee): callee is Callee & Required<Pick<Callee, "onStream">> {
  return callee.onStream !== undefined;
}

/** Returns an object that accepts the streams that the peer of `session` opens. */
export function takePeerStreams(session: StreamSession<TransportSession>): StreamTaker {
  return new PeerStreams(session);
}
