import { type CallOptions, throwIfAborted, timeoutOf } from "../call/options.js";
import { rejectionAtCaller } from "../callers-line.js";
import { deferred, type Deferred } from "../deferred.js";
import { RpcError } from "../errors.js";
import type { Calling, CallingHost } from "./calling.js";
import { callFailureOf, PendingCall } from "./pending-call.js";
import { requestHead, sendRequest } from "./call.js";
import { type HeadFields, writeHead } from "../wire/head.js";
import * as FrameType from "../wire/frame-type.js";
import { codecIn, encodePayload } from "../call/messages/payload.js";
import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { directDatagrams } from "../transport/web-session.js";
import { DatagramKind, FLAG_HEAD } from "../wire/frame.js";
import { FrameWriter } from "../wire/writer.js";

/** Notifications: calls without a response. */
export const notifyCalls: Calling<"notify"> = {
  kind: "notify",
  create: (method) => new Notification(method),
};

/** Notifications that are sent as datagrams, if the transport supports datagrams and the message fits into one. */
export const datagramCalls: Calling<"notify"> = {
  kind: "notify",
  create: (method) => new DatagramNotification(method),
};

/** A notification. It ends as soon as it was handed to the transport. */
class Notification extends PendingCall {
  /** Created when `answer` is read before the notification was sent. */
  private later: Deferred<void> | undefined = undefined;
  private result: Promise<void>;

  // As in `Call`.
  constructor(method: AnyMethod) {
    super(method);
    this.result = SENT;
  }

  get answer(): Promise<void> {
    if (this.over) return this.result;
    this.later ??= deferred();
    return this.later.promise;
  }

  start(host: CallingHost, input: unknown, options: CallOptions | undefined): void {
    try {
      this.send(host, input, options);
    } catch (error) {
      this.end(callFailureOf(RpcError.from(error), this.method, host.peer));
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

const SENT: Promise<void> = Promise.resolve();

/**
 * Sends a notification as a datagram: prefix | kind (varint) | one notify frame. If that is not possible, returns
 * false, or throws `RpcError` if the option `fallback` is "none".
 */
function notifyByDatagram(
  host: CallingHost,
  method: AnyMethod,
  input: unknown,
  options: CallOptions | undefined,
): boolean {
  const problem = send(host, method, input, options);
  if (problem !== undefined && options?.fallback === "none") throw problem;
  return problem === undefined;
}

function send(
  host: CallingHost,
  method: AnyMethod,
  input: unknown,
  options: CallOptions | undefined,
): RpcError | undefined {
  const datagrams = directDatagrams(host.datagramsForCalls());
  const name = fullName(method);
  if (datagrams === undefined) {
    return new RpcError("unimplemented", `${name} is sent as a datagram, and this session has none`);
  }
  // A separate writer, because the encoder runs user code, which may send notifications too.
  const out = new FrameWriter(256);
  out.bytes(host.settings.prefix);
  out.varint(DatagramKind.Notify);
  writeNotification(out, host, method, input, options);
  const { maxSize } = datagrams;
  if (out.position > maxSize) {
    const text = `${name} makes a datagram of ${out.position} bytes, and this session carries ${maxSize}`;
    return new RpcError("resource_exhausted", text);
  }
  // A datagram that the transport drops counts as lost.
  datagrams.send(out.written());
  return undefined;
}

function writeNotification(
  out: FrameWriter,
  { limits, settings }: CallingHost,
  method: AnyMethod,
  input: unknown,
  options: CallOptions = {},
): void {
  timeoutOf(options, limits);
  throwIfAborted(options);
  const { format } = settings;
  const headFields = requestHead(undefined, options, limits);
  const head = format === undefined ? headFields : { ...headFields, codec: format.name };
  try {
    out.frame(head === undefined ? FrameType.Notify : FrameType.Notify | FLAG_HEAD, 0, (_, mark) => {
      out.methodId(method.service.id, method.id);
      if (head !== undefined) writeHead(out, head);
      encodePayload(codecIn(format, method.input), input, { out, compression: undefined }, mark, limits.maxFrameBytes);
    });
  } catch (error) {
    throw RpcError.from(error, "invalid_argument");
  }
}
