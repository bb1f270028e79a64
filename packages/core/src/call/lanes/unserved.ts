import { ProtocolError } from "../../errors.js";
import type { Channel } from "../../transport/channel.js";
import { type SentFault, writeFault } from "../../wire/sent-fault.js";
import { FLAG_HEAD, type Frame } from "../../wire/frame.js";
import type { LaneCallee } from "../carrier.js";
import * as FrameType from "../../wire/frame-type.js";

const REFUSAL: SentFault = {
  code: "unimplemented",
  message: "nothing is served here",
  head: { refused: true },
  details: undefined,
};

/** The callee of a lane on which nothing is served: it refuses calls and drops notifications. */
export class UnservedLane implements LaneCallee {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  onHello(): void {}

  onFrame({ type, callId }: Frame): void {
    switch (type) {
      case FrameType.Request:
        this.#refuse(callId);
        return;
      // Frames sent before the refusal arrived are dropped, and so are notifications.
      case FrameType.Notify:
      case FrameType.Item:
      case FrameType.End:
      case FrameType.Cancel:
      case FrameType.Credit:
        return;
      default:
        throw new ProtocolError(`frame type ${type} is not for the called side`);
    }
  }

  end(): void {}

  #refuse(callId: number): void {
    const channel = this.#channel;
    channel.whenIdle(() => {
      channel.frame(FrameType.Error | FLAG_HEAD, callId, (out) => writeFault(out, REFUSAL, channel.limits));
    });
  }
}
