import { IncomingCallStream } from "../call/call-stream.js";
import type { CarrierSettings } from "../call/carrier.js";
import { Lane, type LaneOwner } from "../call/lane.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import { ResetCode } from "../transport/reset-codes.js";
import type { DirectStream } from "../transport/session.js";
import { StreamSorter } from "../transport/stream-sorter.js";
import { StreamKind } from "../wire/frame.js";

interface PeerStreamsOptions {
  readonly dispatcher: ConstructorParameters<typeof IncomingCallStream>[1];
  readonly settings: CarrierSettings;
  readonly maxStreams: number;
  readonly laneOwner: (onOver: () => void) => LaneOwner;
  /** Takes the streams of other protocols. Without it they are refused. */
  readonly onForeign: ((stream: DirectStream) => void) | undefined;
}

/** The streams that the peer opens: each becomes a lane or a call by its first bytes, or is of another protocol. */
export class PeerStreams {
  private open = 0;
  private readonly options: PeerStreamsOptions;

  constructor(options: PeerStreamsOptions) {
    this.options = options;
  }

  accept(stream: DirectStream): void {
    const { settings, maxStreams, onForeign } = this.options;
    if (this.open >= maxStreams) {
      stream.reset(ResetCode.TooManyStreams);
      stream.stopSending(ResetCode.TooManyStreams);
      return;
    }
    this.open++;
    const onOver = (): void => {
      this.open--;
    };
    const channelOf = (kind: number): Channel | undefined => this.channelOf(kind, stream, onOver);
    StreamSorter.sort(stream, { prefix: settings.prefix, channelOf, onForeign, onUnclaimed: onOver });
  }

  private channelOf(kind: number, stream: DirectStream, onOver: () => void): Channel | undefined {
    const { dispatcher, settings, laneOwner } = this.options;
    const accept = (handler: (channel: Channel) => FrameHandler): Channel => Channel.accept(stream, handler, settings);
    switch (kind) {
      case StreamKind.Lane:
        return accept((channel) => Lane.accept(channel, dispatcher, settings, laneOwner(onOver)));
      case StreamKind.Call:
        return accept((channel) => new IncomingCallStream(channel, dispatcher, settings, onOver));
      default:
        return undefined;
    }
  }
}
