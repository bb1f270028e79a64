import * as FrameType from "../wire/frame-type.js";
import type { Carrier } from "../call/carrier.js";
import { codecIn, sendHead, sendMessage } from "../call/messages/payload.js";
import { type ItemTarget, bytePieceOf, SendFlow, sendItems, leaveSource } from "../call/items/send-items.js";
import type { MessageCodec } from "../contract/codec.js";
import { RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import { gatherFrames } from "../transport/gathering.js";
import type { Call } from "./call.js";
import type { CallOptions } from "../call/options.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { Calling, CallingHost } from "./calling.js";
import { AnsweredCall } from "./unary.js";
import type { AnyAnswer } from "../call/base-caller.js";
import { callWritable, relayTo, type WrittenCall } from "./call-writable.js";
import { StreamedCall } from "./server-stream.js";

/** Sends the items that a caller streams. */
export class OutgoingItems implements ItemTarget {
  readonly flow: SendFlow;
  readonly rawPiece: number | undefined;
  over = false;
  onGivenUp: (() => void) | undefined = undefined;
  private readonly carrier: Carrier;
  private readonly id: number;
  private readonly codec: MessageCodec<unknown> | undefined;
  private readonly call: Call;
  private readonly compress: boolean | undefined;

  /** @param compress whether to compress the items; undefined: depends on their length */
  constructor(call: Call, carrier: Carrier, id: number, limits: ClientLimits, compress: boolean | undefined) {
    const { method } = call;
    this.call = call;
    this.compress = compress;
    this.carrier = carrier;
    this.id = id;
    this.codec = codecIn(carrier.format, method.input);
    this.flow = new SendFlow(carrier);
    this.rawPiece = bytePieceOf(method.input, limits);
    gatherFrames(carrier.channel);
  }

  item(item: unknown): void {
    if (this.over) return;
    const { channel } = this.carrier;
    const { codec, compress } = this;
    this.flow.spend(sendMessage(channel, FrameType.Item, this.id, codec, item, false, undefined, compress));
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
    // The source has failed, or the loop that reads it stops it.
    this.onGivenUp = undefined;
    this.stop();
    this.call.cancel(RpcError.from(error, "unknown"), "cancelled");
  }

  stop(): void {
    if (this.over) return;
    this.over = true;
    this.flow.end();
    this.onGivenUp?.();
  }
}

/** Client-streaming calls: the caller sends items, the callee sends one response. */
export const clientStreamCalls: Calling<"client_stream"> = {
  kind: "client_stream",
  create: (method, _options, source) => new ClientStreamCall(method, source),
};

class ClientStreamCall extends AnsweredCall {
  constructor(method: AnyMethod, source: unknown) {
    super(method);
    this.source = source;
  }

  override start(host: CallingHost, source: unknown, options: CallOptions | undefined): void {
    super.start(host, undefined, options);
    if (this.items !== undefined) void sendItems(this.items, source);
  }

  protected override onCarrier(carrier: Carrier, id: number): void {
    super.onCarrier(carrier, id);
    this.source = undefined;
    this.items = new OutgoingItems(this, carrier, id, this.host.limits, this.options?.compress);
  }

  protected override conclude(error: RpcError | undefined, result: unknown): void {
    super.conclude(error, result);
    if (error !== undefined && this.source !== undefined) leaveSource(this.source);
  }
}

/** Duplex calls: both sides send items. */
export const duplexCalls: Calling<"duplex"> = {
  kind: "duplex",
  create: (method, options) => new DuplexCall(method, options),
};

class DuplexCall extends StreamedCall implements WrittenCall {
  relay: WritableStreamDefaultWriter<unknown> | undefined = undefined;
  override onStarted: (() => void) | undefined = undefined;
  private readonly writable: WritableStream<unknown>;

  constructor(method: AnyMethod, options: CallOptions | undefined) {
    super(method, options);
    this.writable = callWritable(this);
  }

  override get answer(): AnyAnswer {
    return { readable: this.receiver.stream, writable: this.writable };
  }

  override follow(answer: unknown): void {
    super.follow(relayTo(this, answer));
  }

  protected override onCarrier(carrier: Carrier, id: number): void {
    super.onCarrier(carrier, id);
    this.items = new OutgoingItems(this, carrier, id, this.host.limits, this.options?.compress);
    this.onStarted?.();
  }
}
