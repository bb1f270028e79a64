import type { CallChannel } from "../carrier.js";

/** Unread bytes of items at which a call's own stream is paused, and at which it is resumed. */
const PAUSE_AT = 256 * 1024;
const RESUME_AT = 128 * 1024;

/** Holds the sender of items back while they are not read: by credit on a lane, by QUIC's own on a stream. */
export interface ReceiveFlow {
  /** An item frame of `bytes` has arrived. Throws `ProtocolError` when the peer had no credit for it. */
  received(bytes: number): void;
  /** An item frame of `bytes` has been read by the application. */
  consumed(bytes: number): void;
  /** Called when the call is over. No more credit may be granted, because another call will use its id. */
  end(): void;
  /** Bytes that the sender has credit for; absent if the stream itself provides backpressure. */
  readonly credit?: number;
}

/** Carries items that have a way of their own to be held back. */
export interface FlowCarrier {
  readonly channel: Pick<CallChannel["channel"], "compression" | "budget">;
  receiveFlow(id: number): ReceiveFlow;
}

/** Returns what holds back the items that a call receives. */
export function receiveFlowOf(carrier: CallChannel | FlowCarrier, id: number): ReceiveFlow {
  return carrier.receiveFlow?.(id) ?? new StreamReceiveFlow(carrier as CallChannel);
}

/** Holds the sender back by pausing the stream. */
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

  /** The stream's own end comes after the last item, and must be read. */
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
