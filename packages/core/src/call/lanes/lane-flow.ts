import type { CallChannel } from "../carrier.js";
import type { ReceiveFlow } from "../items/item-receiver.js";
import { ProtocolError } from "../../errors.js";
import { INITIAL_CREDIT } from "../../wire/frame.js";
import * as FrameType from "../../wire/frame-type.js";

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
