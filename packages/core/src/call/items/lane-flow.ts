import { ProtocolError } from "../../errors.js";
import { INITIAL_CREDIT } from "../../wire/frame.js";
import type { CallChannel } from "../carrier.js";
import type { ReceiveFlow } from "./flow.js";
import * as FrameType from "../../wire/frame-type.js";

/** Read bytes that make a credit frame worth its while. */
const CREDIT_STEP = INITIAL_CREDIT / 4;

/** Holds the sender back by credit. */
export class LaneReceiveFlow implements ReceiveFlow {
  private window = INITIAL_CREDIT;
  private unreported = 0;
  private over = false;
  private readonly carrier: CallChannel;
  private readonly id: number;

  constructor(carrier: CallChannel, id: number) {
    this.carrier = carrier;
    this.id = id;
  }

  received(bytes: number): void {
    if (this.window <= 0) throw new ProtocolError("an item was sent without credit");
    this.window -= bytes;
  }

  consumed(bytes: number): void {
    this.unreported += bytes;
    if (this.unreported < CREDIT_STEP || this.over) return;
    const { channel } = this.carrier;
    const mark = channel.begin(FrameType.Credit, this.id);
    channel.out.varint(this.unreported);
    channel.commit(mark);
    this.window += this.unreported;
    this.unreported = 0;
  }

  end(): void {
    this.over = true;
  }
}
