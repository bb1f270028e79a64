import type { Carrier } from "../call/carrier.js";
import { callWritable } from "./call-writable.js";
import type { Calling } from "./calling.js";
import { duplexLater } from "./late-items.js";
import { OutgoingItems } from "./outgoing-items.js";
import { StreamedCall } from "./server-stream.js";

/** Makes calls that stream both ways: request and items out, items in until end or error. */
export const duplexCalls: Calling<"duplex"> = {
  kind: "duplex",
  start(host, method, _input, options) {
    const call = new DuplexCall(host, method, options);
    // Before the start, so that the stream fails if the call cannot be started.
    const writable = callWritable(call);
    call.start(undefined);
    return { readable: call.stream, writable };
  },
  startLate: (call) => duplexLater(call),
};

class DuplexCall extends StreamedCall {
  protected override onCarrier(carrier: Carrier, id: number): void {
    super.onCarrier(carrier, id);
    this.items = new OutgoingItems(this, carrier, id, this.host.limits, this.options?.compress);
  }
}
