import type { Carrier } from "../call/carrier.js";
import { leave } from "../call/items/item-source.js";
import { sendItems } from "../call/items/send-items.js";
import type { Calling } from "./calling.js";
import { promiseLater } from "./late-call.js";
import { OutgoingItems } from "./outgoing-items.js";
import { AnsweredCall } from "./unary.js";

/** Makes calls that stream their input: request and items out, response or error in. */
export const clientStreamCalls: Calling<"client_stream"> = {
  kind: "client_stream",
  start: (host, method, source, options) =>
    new Promise((resolve) => {
      const call = new ClientStreamCall(host, method, options, resolve);
      call.start(undefined);
      if (call.items === undefined) leave(source);
      else void sendItems(call.items, source);
    }),
  startLate: (call, source) => promiseLater(call, () => leave(source)),
};

class ClientStreamCall extends AnsweredCall {
  protected override onCarrier(carrier: Carrier, id: number): void {
    super.onCarrier(carrier, id);
    this.items = new OutgoingItems(this, carrier, id, this.host.limits, this.options?.compress);
  }
}
