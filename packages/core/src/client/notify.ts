import { type CallOptions, throwIfAborted, timeoutOf } from "../call/options.js";
import { rejectionAtCaller } from "../callers-line.js";
import { deferred, type Deferred } from "../deferred.js";
import { RpcError } from "../errors.js";
import type { Calling, CallingHost } from "./calling.js";
import { failureOf } from "./failure.js";
import { notifyByDatagram } from "./notify-by-datagram.js";
import { PendingCall } from "./pending-call.js";
import { requestHead, sendRequest } from "./call.js";
import type { HeadFields } from "../wire/head.js";
import * as FrameType from "../wire/frame-type.js";

/** Makes notifications, for which no response is awaited. */
export const notifyCalls: Calling<"notify"> = {
  kind: "notify",
  create: (method) => new Notification(method),
};

/** Makes notifications by datagram, if the transport has datagrams and the notification fits one. */
export const datagramCalls: Calling<"notify"> = {
  kind: "notify",
  create: (method) => new DatagramNotification(method),
};

/** A notification: it is over when it was handed to the transport. */
class Notification extends PendingCall {
  /** Created if the answer is asked for before the notification was sent. */
  private later: Deferred<void> | undefined = undefined;
  private result: Promise<void> = SENT;

  get answer(): Promise<void> {
    if (this.over) return this.result;
    this.later ??= deferred();
    return this.later.promise;
  }

  start(host: CallingHost, input: unknown, options: CallOptions | undefined): void {
    try {
      this.send(host, input, options);
    } catch (error) {
      this.end(failureOf(RpcError.from(error), this.method, host.peer));
      return;
    }
    this.end(undefined);
  }

  protected send(host: CallingHost, input: unknown, options: CallOptions | undefined): void {
    const { method } = this;
    let head: HeadFields | undefined;
    if (options !== undefined) {
      timeoutOf(options, host.limits);
      throwIfAborted(options);
      head = requestHead(undefined, options, host.limits);
    }
    const carrier = host.carrierFor(method, options);
    sendRequest(host, carrier, FrameType.Notify, carrier.notifyId, method, options, head, input);
    carrier.onNotified?.();
  }

  protected conclude(error: RpcError | undefined): void {
    if (error !== undefined) this.result = rejectionAtCaller(error);
    this.later?.resolve(this.result);
  }
}

class DatagramNotification extends Notification {
  protected override send(host: CallingHost, input: unknown, options: CallOptions | undefined): void {
    if (options?.via === undefined && notifyByDatagram(host, this.method, input, options)) return;
    super.send(host, input, options);
  }
}

/** The answer of every notification that was sent. */
const SENT: Promise<void> = Promise.resolve();
