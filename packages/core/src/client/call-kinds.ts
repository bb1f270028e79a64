import { rejectionAtCaller } from "../callers-line.js";
import { itemSource } from "../call/item-source.js";
import { LateDuplex } from "../call/late-stream.js";
import { itemQueue } from "../call/item-stream.js";
import { sendItems } from "../call/send-items.js";
import {
  describeMethod,
  type MethodDescriptor,
  type MethodKind,
  type MethodOptions,
  type ServiceIdentity,
} from "../contract/descriptor.js";
import type { MethodErrors, NoErrors } from "../contract/method-errors.js";
import { RpcError } from "../errors.js";
import type { Calling, InputCode, NewCall } from "./calling.js";
import { callWritable } from "./call-writable.js";
import { notifyByDatagram } from "./datagram-notifier.js";
import { OutgoingItems } from "./outgoing-items.js";

const inputCode: InputCode = { Items: OutgoingItems };

/** Request out, response or error in. */
export const unaryCalls: Calling<"unary"> = {
  kind: "unary",
  start: (call, input) => new Promise((resolve) => void call.answered(input, resolve)),
};

/** Sent and forgotten. */
export const notifyCalls: Calling<"notify"> = {
  kind: "notify",
  start: startNotify,
};

/** The same by datagram, where there are such and it fits one. */
export const datagramCalls: Calling<"notify"> = {
  kind: "notify",
  start: startNotify,
  byDatagram: notifyByDatagram,
};

/** Request out, items in until end or error. */
export const serverStreamCalls: Calling<"server_stream"> = {
  kind: "server_stream",
  start: (call, input) => call.streamed(input, itemQueue),
};

/** Request and items out, response or error in. */
export const clientStreamCalls: Calling<"client_stream"> = {
  kind: "client_stream",
  start: (call, source) =>
    new Promise((resolve) => {
      let sending = false;
      const onFailed = (): void => {
        if (!sending) leave(source);
      };
      const items = call.answered(undefined, resolve, inputCode, onFailed);
      sending = items !== undefined;
      if (items !== undefined) void sendItems(items, source);
    }),
};

/** Request and items out, items in until end or error. */
export const duplexCalls: Calling<"duplex"> = {
  kind: "duplex",
  start: (call) => call.duplex(itemQueue, inputCode, callWritable, LateDuplex),
};

const KINDS: { readonly [Kind in MethodKind]: Calling<Kind> } = {
  unary: unaryCalls,
  notify: notifyCalls,
  server_stream: serverStreamCalls,
  client_stream: clientStreamCalls,
  duplex: duplexCalls,
};

/** Makes a method descriptor by hand. Throws `RangeError` for an id that does not fit the wire. */
export function defineMethod<
  Kind extends MethodKind,
  Sent = void,
  Received = Sent,
  Returned = void,
  Result = Returned,
  const Errors extends MethodErrors = NoErrors,
>(
  service: ServiceIdentity,
  kind: Kind,
  name: string,
  options: MethodOptions<Sent, Received, Returned, Result, Errors>,
): MethodDescriptor<Kind, Sent, Received, Returned, Result, Errors> {
  const calling = options.delivery === "datagram" ? datagramCalls : KINDS[kind];
  return describeMethod(service, calling as Calling<Kind>, name, options);
}

function startNotify(call: NewCall, input: unknown): Promise<void> {
  try {
    return call.notify(input) ?? Promise.resolve();
  } catch (error) {
    return rejectionAtCaller(call.failure(RpcError.from(error)));
  }
}

/** Tells a source that its call has not begun. */
function leave(source: unknown): void {
  try {
    void itemSource(source).stop();
  } catch {
    // It is none: the call's error says enough.
  }
}
