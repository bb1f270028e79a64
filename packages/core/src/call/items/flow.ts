import type { CallChannel } from "../carrier.js";
import { ProtocolError } from "../../errors.js";
import { INITIAL_CREDIT } from "../../wire/frame.js";
import * as FrameType from "../../wire/frame-type.js";

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

/** Most bytes that a sender may be ahead of a reader that keeps up: at a round trip of 100 ms, 20 MB/s. */
const MAX_WINDOW = 2 * 1024 * 1024;
/** Milliseconds: if a whole window is read in less time, the window may limit the sender. */
const QUICKLY = 250;
/** The share of a session's memory that all its streams together may have credit for beyond their first. */
const EXTRA_SHARE = 1 / 8;

/**
 * Credit-based flow control. The window starts at `INITIAL_CREDIT`, and doubles when the application has read a whole
 * one at once. If the reader becomes slow, at most the credit granted before stays unread.
 */
export class LaneReceiveFlow implements ReceiveFlow {
  private size = INITIAL_CREDIT;
  credit: number = INITIAL_CREDIT;
  private unread = 0;
  private unreported = 0;
  /**
   * Bytes read since the window was last adjusted (`readSince`); whether all received bytes were read at some time
   * since; and when that was.
   */
  private readSince = 0;
  private keepsUp = false;
  private consideredAt: number | undefined = undefined;
  private over = false;
  private readonly carrier: CallChannel;
  private readonly id: number;

  constructor(carrier: CallChannel, id: number) {
    this.carrier = carrier;
    this.id = id;
  }

  received(bytes: number): void {
    if (this.credit <= 0) throw new ProtocolError("an item was sent without credit");
    this.credit -= bytes;
    this.unread += bytes;
  }

  consumed(bytes: number): void {
    this.unread -= bytes;
    this.unreported += bytes;
    if (this.unread === 0) this.keepsUp = true;
    // A credit frame is sent only for a substantial number of bytes.
    if (this.unreported < this.size / 4 || this.over) return;
    const granted = this.unreported + this.growth(this.unreported);
    this.carrier.channel.frame(FrameType.Credit, this.id, (out) => out.varint(granted));
    this.credit += granted;
    this.unreported = 0;
  }

  end(): void {
    if (this.over) return;
    this.over = true;
    this.carrier.channel.traffic.extraCredit -= this.size - INITIAL_CREDIT;
  }

  /** Returns the number of bytes that are added to the window after this many more were read. */
  private growth(bytes: number): number {
    if (this.size === MAX_WINDOW) return 0;
    this.readSince += bytes;
    const { consideredAt, keepsUp } = this;
    if (this.readSince < this.size && consideredAt !== undefined) return 0;
    const now = performance.now();
    this.consideredAt = now;
    this.readSince = 0;
    this.keepsUp = false;
    const isQuick = keepsUp && consideredAt !== undefined && now - consideredAt < QUICKLY;
    const { budget, traffic } = this.carrier.channel;
    const extra = this.size;
    if (!isQuick || traffic.extraCredit + extra > budget.max * EXTRA_SHARE) return 0;
    traffic.extraCredit += extra;
    this.size += extra;
    return extra;
  }
}
