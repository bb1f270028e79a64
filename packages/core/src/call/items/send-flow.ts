import { INITIAL_CREDIT } from "../../wire/frame.js";
import type { CallChannel } from "../carrier.js";
import type { ItemFlow } from "./send-items.js";

/** Delays this side's items, by the peer's credit and by the room in the transport. */
export class SendFlow implements ItemFlow {
  /** Bytes that the peer has room for; infinite if the stream itself provides backpressure. */
  credit: number;
  private readonly carrier: CallChannel;
  private resume: (() => void) | undefined = undefined;
  private queued = false;
  private ended = false;

  constructor(carrier: CallChannel) {
    this.carrier = carrier;
    this.credit = carrier.single ? Number.POSITIVE_INFINITY : INITIAL_CREDIT;
  }

  get ready(): boolean {
    return this.ended || (this.credit > 0 && this.carrier.channel.writable);
  }

  spend(bytes: number): void {
    this.credit -= bytes;
  }

  grant(bytes: number): void {
    this.credit += bytes;
    this.wake();
  }

  wait(resume: () => void): void {
    this.resume = resume;
    if (this.ended) this.end();
    else this.wake();
  }

  /** Called when the call is over. */
  end(): void {
    this.ended = true;
    const { resume } = this;
    this.resume = undefined;
    resume?.();
  }

  private wake(): void {
    if (this.resume === undefined || this.credit <= 0) return;
    const { resume } = this;
    if (!this.carrier.channel.writable) {
      this.queue();
      return;
    }
    this.resume = undefined;
    resume();
  }

  /** Waits for the channel once, however often it is called. */
  private queue(): void {
    if (this.queued) return;
    this.queued = true;
    this.carrier.channel.whenWritable(() => {
      this.queued = false;
      this.wake();
    });
  }
}
