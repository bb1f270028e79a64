import type { CallChannel } from "../carrier.js";

/** Unread bytes of items at which a call's own stream is paused, and at which it is resumed. */
const PAUSE_AT = 256 * 1024;
const RESUME_AT = 128 * 1024;

/** Applies backpressure to the sender of items while they are unread: by credit on a lane, by QUIC's flow control on a stream. */
export interface ReceiveFlow {
  /** Called when an item frame of `bytes` has arrived. Throws `ProtocolError` if the peer had no credit for it. */
  received(bytes: number): void;
  /** Called when the application has read an item frame of `bytes`. */
  consumed(bytes: number): void;
  /** Called when the call is over. No more credit may be granted, because another call will use its id. */
  end(): void;
  /** Bytes that the sender has credit for; absent if the stream itself provides backpressure. */
  readonly credit?: number;
}

/** Carries items that have flow control of their own. */
export interface FlowCarrier {
  readonly channel: Pick<CallChannel["channel"], "compression" | "budget">;
  receiveFlow(id: number): ReceiveFlow;
}

/** Returns the flow control for items that a call receives. */
export function receiveFlowOf(carrier: CallChannel | FlowCarrier, id: number): ReceiveFlow {
  return carrier.receiveFlow?.(id) ?? new StreamReceiveFlow(carrier as CallChannel);
}

/** Applies backpressure by pausing the stream. */
class StreamReceiveFlow implements ReceiveFlow {
  private unread = 0;
  private paused = false;
  private over = false;
  private readonly carrier: CallChannel;

  constructor(carrier: CallChannel) {
    this.carrier = carrier;
  }

  received(bytes: number): void {
    this.unread += bytes;
    if (this.paused || this.over || this.unread < PAUSE_AT) return;
    this.paused = true;
    this.carrier.channel.pause();
  }

  consumed(bytes: number): void {
    this.unread -= bytes;
    if (this.unread <= RESUME_AT) this.goOn();
  }

  /** The stream's end follows the last item, and must be read. */
  end(): void {
    this.over = true;
    this.goOn();
  }

  private goOn(): void {
    if (!this.paused) return;
    this.paused = false;
    this.carrier.channel.resume();
  }
}
