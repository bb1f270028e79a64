import type { Carrier } from "../call/carrier.js";
import { codecIn } from "../call/messages/payload.js";
import { sendHead, sendMessage } from "../call/messages/send-message.js";
import { type ItemTarget, bytePieceOf, SendFlow } from "../call/items/send-items.js";
import type { MessageCodec } from "../contract/codec.js";
import { RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import { gatherFrames } from "../transport/gathering.js";
import type { Call } from "./call.js";
import * as FrameType from "../wire/frame-type.js";

/** The items that a caller streams, after its request. */
export class OutgoingItems implements ItemTarget {
  readonly flow: SendFlow;
  readonly rawPiece: number | undefined;
  over = false;
  onGivenUp: (() => void) | undefined = undefined;
  private readonly carrier: Carrier;
  private readonly id: number;
  private readonly codec: MessageCodec<unknown> | undefined;
  private readonly limits: ClientLimits;
  private readonly call: Call;
  private readonly compress: boolean | undefined;

  /** @param compress whether items are compressed; undefined by their length */
  constructor(call: Call, carrier: Carrier, id: number, limits: ClientLimits, compress: boolean | undefined) {
    const { method } = call;
    this.call = call;
    this.compress = compress;
    this.carrier = carrier;
    this.id = id;
    this.codec = codecIn(carrier.format, method.input);
    this.limits = limits;
    this.flow = new SendFlow(carrier);
    this.rawPiece = bytePieceOf(method.input, limits);
    gatherFrames(carrier.channel);
  }

  item(item: unknown): void {
    if (this.over) return;
    const { maxFrameBytes } = this.limits;
    const { channel } = this.carrier;
    const { codec, compress } = this;
    this.flow.spend(
      sendMessage(channel, FrameType.Item, this.id, codec, item, maxFrameBytes, false, undefined, compress),
    );
  }

  end(): void {
    if (this.over) return;
    const { channel, single } = this.carrier;
    sendHead(channel, FrameType.End, this.id, undefined, single);
    this.onGivenUp = undefined;
    this.stop();
  }

  fail(error: unknown): void {
    if (this.over) return;
    // The source itself failed, or its pump stops it.
    this.onGivenUp = undefined;
    this.stop();
    this.call.giveUp(RpcError.from(error, "unknown"), "cancelled");
  }

  /** Stops sending: the items have ended, the callee reads no more, or the call is over. */
  stop(): void {
    if (this.over) return;
    this.over = true;
    this.flow.end();
    this.onGivenUp?.();
  }
}
