import { throwIfAborted, timeoutOf } from "../call/options.js";
import { rejectionAtCaller } from "../callers-line.js";
import { RpcError } from "../errors.js";
import type { Calling } from "./calling.js";
import { failureOf } from "./failure.js";
import { promiseLater } from "./late-call.js";
import { notifyByDatagram } from "./notify-by-datagram.js";
import { requestHead, sendRequest } from "./request.js";
import type { HeadFields } from "../wire/head.js";
import * as FrameType from "../wire/frame-type.js";

/** Makes notifications, for which no response is awaited. */
export const notifyCalls: Calling<"notify"> = {
  kind: "notify",
  start(host, method, input, options) {
    try {
      let head: HeadFields | undefined;
      if (options !== undefined) {
        timeoutOf(options, host.limits);
        throwIfAborted(options);
        head = requestHead(undefined, options, host.limits);
      }
      const carrier = host.carrierFor(method, options);
      sendRequest(host, carrier, FrameType.Notify, carrier.notifyId, method, options, head, input);
      carrier.onNotified?.();
    } catch (error) {
      return rejectionAtCaller(failureOf(RpcError.from(error), method, host.peer));
    }
    return Promise.resolve();
  },
  startLate: (call) => promiseLater(call),
};

/** Makes notifications by datagram, if the transport has datagrams and the notification fits one. */
export const datagramCalls: Calling<"notify"> = {
  kind: "notify",
  start(host, method, input, options) {
    try {
      if (options?.via === undefined && notifyByDatagram(host, method, input, options)) return Promise.resolve();
    } catch (error) {
      return rejectionAtCaller(failureOf(RpcError.from(error), method, host.peer));
    }
    return notifyCalls.start(host, method, input, options);
  },
  startLate: (call) => promiseLater(call),
};
