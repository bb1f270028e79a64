import type { CallChannel } from "../carrier.js";
import { ProtocolError } from "../../errors.js";
import { INITIAL_CREDIT } from "../../wire/frame.js";
import * as FrameType from "../../wire/frame-type.js";

/** Number of unread bytes at which a call's own stream is paused. Reading resumes at `RESUME_AT`. */
const PAUSE_AT = 256 * 1024;
const RESUME_AT = 128 * 1024;

/**
 * Flow control on the receiving side of a call's items. On a lane the receiver grants credit; on a call's own stream it
 * stops reading, so that QUIC's flow control stops the sender.
 */
export interface ReceiveFlow {
  /**
   * Called when an item frame of `bytes` bytes has arrived. Throws `ProtocolError` if the peer had no credit for it.
   */
  received(bytes: number): void;
  /** Called when the application has read an item whose frame has `bytes` bytes. */
  consumed(bytes: number): void;
  /** Called when the call is over. Stops granting credit, because the call id may be reused by another call. */
  end(): void;
  /** Number of bytes that the sender may still send. Absent on a call's own stream. */
  readonly credit?: number;
}

/** A carrier of items that has its own flow control. */
export interface FlowCarrier {
  readonly channel: Pick<CallChannel["channel"], "compression" | "budget">;
  receiveFlow(id: number): ReceiveFlow;
}

/** Returns the flow control for the items that call `id` receives on `carrier`. */
export function receiveFlowOf(carrier: CallChannel | FlowCarrier, id: number): ReceiveFlow {
  return carrier.receiveFlow?.(id) ?? new StreamReceiveFlow(carrier as CallChannel);
}

/** Flow control of a call's own stream: it pauses the stream while too many bytes are unread. */
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

  /** Resumes the stream, because the end of the stream after the last item must still be read. */
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

/** Maximum size of a flow-control window, in bytes. With a round trip of 100 ms it allows 20 MB/s. */
const MAX_WINDOW = 2 * 1024 * 1024;
/**
 * If the application reads a whole window in less than this many milliseconds, the window may be too small, so it
 * grows.
 */
const QUICKLY = 250;
/**
 * Fraction of a session's memory budget by which the windows of all its streams together may exceed their initial
 * sizes.
 */
const EXTRA_SHARE = 1 / 8;

/**
 * Credit-based flow control for the items of one call on a lane. The window starts at `INITIAL_CREDIT` bytes and
 * doubles while the application reads fast. After the reader becomes slow, at most the credit granted before can remain
 * unread.
 */
export class LaneReceiveFlow implements ReceiveFlow {
  private size = INITIAL_CREDIT;
  credit: number = INITIAL_CREDIT;
  private unread = 0;
  private unreported = 0;
  /**
   * Bytes read since the window size was last reviewed. `keepsUp`: whether the application has read all received bytes
   * at some time since then. `consideredAt`: time of that review.
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
    // A credit frame is sent only after a quarter of the window was read, to save frames.
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

  /**
   * Reviews the window size after the application has read `bytes` more bytes. Returns the bytes by which the window
   * grows, or 0.
   */
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
