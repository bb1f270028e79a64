import type { AnyAnswer } from "../call/base-caller.js";
import type { Carrier } from "../call/carrier.js";
import type { CallOptions } from "../call/options.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { callWritable, relayTo, type WrittenCall } from "./call-writable.js";
import type { Calling } from "./calling.js";
import { OutgoingItems } from "./outgoing-items.js";
import { StreamedCall } from "./server-stream.js";

/** Makes calls that stream both ways: request and items out, items in until end or error. */
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
