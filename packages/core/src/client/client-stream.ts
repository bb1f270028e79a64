import type { Carrier } from "../call/carrier.js";
import { sendItems, leave } from "../call/items/send-items.js";
import type { CallOptions } from "../call/options.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";
import type { Calling, CallingHost } from "./calling.js";
import { OutgoingItems } from "./outgoing-items.js";
import { AnsweredCall } from "./unary.js";

/** Makes calls that stream their input: request and items out, response or error in. */
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
    if (error !== undefined && this.source !== undefined) leave(this.source);
  }
}
