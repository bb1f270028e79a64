import { itemSource } from "../call/item-source.js";
import { LateDuplex, LateItems } from "../call/late-stream.js";
import type { DuplexStream } from "../call/caller.js";
import { ItemQueue, type ItemStream } from "../call/item-stream.js";
import { sendItems } from "../call/send-items.js";
import {
  describeMethod,
  type MethodDescriptor,
  type MethodKind,
  type MethodOptions,
  type ServiceIdentity,
} from "../contract/descriptor.js";
import type { MethodErrors, NoErrors } from "../contract/method-errors.js";
import type { Calling, NewCall } from "./calling.js";
import { callWritable } from "./call-writable.js";
import { notifyByDatagram } from "./datagram-notifier.js";
import { OutgoingItems } from "./outgoing-items.js";

/** Request out, response or error in. */
export const unaryCalls: Calling<"unary"> = {
  kind: "unary",
  start: (call, input) => new Promise((resolve, reject) => void call.answered(input, resolve, reject)),
  wait: promised,
};

/** Sent and forgotten. `start` throws what is wrong. */
export const notifyCalls: Calling<"notify"> = {
  kind: "notify",
  start: startNotify,
  wait: promised,
};

/** The same by datagram, where there are such and it fits one. */
export const datagramCalls: Calling<"notify"> = {
  kind: "notify",
  start: startNotify,
  wait: promised,
  byDatagram: notifyByDatagram,
};

/** Request out, items in until end or error. */
export const serverStreamCalls: Calling<"server_stream"> = {
  kind: "server_stream",
  start: (call, input) => call.streamed(input, ItemQueue),
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
  start: (call, source) =>
    new Promise((resolve, reject) => {
      const items = call.answered(undefined, resolve, reject, OutgoingItems);
      if (items === undefined) leave(source);
      else void sendItems(items, source);
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
  start: (call) => call.duplex(ItemQueue, OutgoingItems, callWritable),
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

function startNotify(call: NewCall, input: unknown): void {
  call.notify(input);
}

function promised(...[queue]: Parameters<Calling["wait"]>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    queue({ start: (make) => resolve(make()), fail: reject });
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
