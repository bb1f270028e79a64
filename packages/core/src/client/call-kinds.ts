import type { Carrier } from "../call/carrier.js";
import { itemSource } from "../call/item-source.js";
import { LateDuplex, LateItems } from "../call/late-stream.js";
import type { DuplexStream } from "../call/caller.js";
import type { ItemStream } from "../call/item-stream.js";
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
import type { Calling } from "./calling.js";
import { callWritable } from "./call-writable.js";
import { AnsweredCall, type Call, StreamedCall } from "./calls.js";
import { notifyByDatagram } from "./datagram-notifier.js";
import { type Invocation, invokeNotify, startCall } from "./invoke.js";
import { OutgoingItems } from "./outgoing-items.js";

/** Request out, response or error in. */
export const unaryCalls: Calling<"unary"> = {
  kind: "unary",
  start: (invocation, input) =>
    new Promise((resolve, reject) => {
      startCall(new AnsweredCall(invocation, resolve, reject), invocation, input);
    }),
  wait: promised,
};

/** Sent and forgotten. `start` throws what is wrong. */
export const notifyCalls: Calling<"notify"> = { kind: "notify", start: invokeNotify, wait: promised };

/** The same by datagram, where there are such and it fits one. */
export const datagramCalls: Calling<"notify"> = {
  kind: "notify",
  start: invokeNotify,
  wait: promised,
  byDatagram: notifyByDatagram,
};

/** Request out, items in until end or error. */
export const serverStreamCalls: Calling<"server_stream"> = {
  kind: "server_stream",
  start(invocation, input) {
    const call = new StreamedCall(invocation);
    startCall(call, invocation, input);
    return call.stream;
  },
  wait(queue) {
    const late = new LateItems(() => takeBack());
    const takeBack = queue({
      start(make) {
        const stream = make() as ItemStream<unknown>;
        late.follow(stream, stream);
      },
      fail: (error) => late.fail(error),
    });
    return late.stream;
  },
};

/** Request and items out, response or error in. */
export const clientStreamCalls: Calling<"client_stream"> = {
  kind: "client_stream",
  start: (invocation, source) =>
    new Promise((resolve, reject) => {
      const call = new AnsweredCall(invocation, resolve, reject);
      startCall(call, invocation, undefined, itemsOf(call, invocation));
      if (call.items === undefined) leave(source);
      else void sendItems(call.items, source);
    }),
  wait: (queue, source) =>
    new Promise((resolve, reject) => {
      queue({
        start: (make) => resolve(make()),
        fail(error) {
          reject(error);
          leave(source);
        },
      });
    }),
};

/** Request and items out, items in until end or error. */
export const duplexCalls: Calling<"duplex"> = {
  kind: "duplex",
  start(invocation) {
    const call = new StreamedCall(invocation);
    // Before the start, so that it hears of a call that cannot be started.
    const writable = callWritable(call);
    startCall(call, invocation, undefined, itemsOf(call, invocation));
    return { readable: call.stream, writable };
  },
  wait(queue) {
    const late = new LateDuplex(() => takeBack());
    const takeBack = queue({
      start: (make) => late.follow(make() as DuplexStream<unknown, unknown>),
      fail: (error) => late.fail(error),
    });
    return { readable: late.readable, writable: late.writable };
  },
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

function promised(...[queue]: Parameters<Calling["wait"]>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    queue({ start: (make) => resolve(make()), fail: reject });
  });
}

/** What the caller streams. */
function itemsOf(call: Call, { method, limits }: Invocation): (carrier: Carrier, id: number) => OutgoingItems {
  return (carrier, id) =>
    new OutgoingItems(carrier, id, method, limits, (error) => {
      call.giveUp(RpcError.from(error, "unknown"), "cancelled");
    });
}

/** Tells a source that its call has not begun. */
function leave(source: unknown): void {
  try {
    itemSource(source).stop();
  } catch {
    // It is none: the call's error says enough.
  }
}
