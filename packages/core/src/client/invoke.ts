import { type Carrier, prioritize } from "../call/carrier.js";
import { type CallOptions, throwIfAborted, timeoutOf } from "../call/options.js";
import { encodePayload } from "../call/payload.js";
import { codecIn, type SessionFormat } from "../call/session-format.js";
import { watch } from "../call/watch.js";
import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import { Metadata } from "../metadata.js";
import { FLAG_HEAD } from "../wire/frame.js";
import { type HeadFields, writeHead } from "../wire/head.js";
import { encodeMetadata } from "../wire/metadata.js";
import { writeMethodId } from "../wire/request.js";
import type { FrameWriter } from "../wire/writer.js";
import { AnswerListener } from "./answer-listener.js";
import type { Call, CallSettings } from "./calls.js";
import type { OutgoingItems } from "./outgoing-items.js";
import * as FrameType from "../wire/frame-type.js";

/** How a call is to be made. */
export interface Invocation extends CallSettings {
  /** Picks what carries the call; throws `RpcError` when nothing can. */
  readonly pick: () => Carrier;
  readonly options: CallOptions | undefined;
}

/** A notification that is to go by datagram. */
export type NotificationCall = Pick<Invocation, "method" | "options" | "host">;

/** One notification: sent and forgotten. */
export function invokeNotify(invocation: Invocation, input: unknown): void {
  const { pick, options } = invocation;
  const { limits } = invocation.host;
  timeoutOf(options, limits);
  throwIfAborted(options);
  const head = requestHead(undefined, options, limits);
  const carrier = pick();
  prioritize(carrier, options?.priority ?? invocation.method.priority);
  sendRequest(carrier, carrier.notifyId, FrameType.Notify, invocation, input, head);
  carrier.onNotified?.();
}

/** One notification as a whole frame, for a datagram. */
export function writeNotification(
  out: FrameWriter,
  { method, options, host: { limits } }: NotificationCall,
  format: SessionFormat | undefined,
  input: unknown,
): void {
  timeoutOf(options, limits);
  throwIfAborted(options);
  const given = requestHead(undefined, options, limits);
  const head = format === undefined ? given : { ...given, codec: format.name };
  try {
    const mark = out.begin(head === undefined ? FrameType.Notify : FrameType.Notify | FLAG_HEAD, 0);
    writeMethodId(out, method.service.id, method.id);
    if (head !== undefined) writeHead(out, head);
    encodePayload(codecIn(format, method.input), input, { out, compression: undefined }, mark, limits.maxFrameBytes);
    out.commit(mark);
  } catch (error) {
    throw RpcError.from(error, "invalid_argument");
  }
}

/**
 * Sends the request; whatever fails on the way is the call's error.
 *
 * @param itemsOf what the caller streams after it, rather than one `input`
 */
export function startCall(
  call: Call,
  invocation: Invocation,
  input: unknown,
  itemsOf?: (carrier: Carrier, id: number) => OutgoingItems,
): void {
  const { pick, options } = invocation;
  const { limits } = invocation.host;
  let carrier: Carrier;
  let id: number;
  let timeoutMs: number | undefined;
  let head: HeadFields | undefined;
  try {
    timeoutMs = timeoutOf(options, limits);
    throwIfAborted(options);
    head = requestHead(timeoutMs, options, limits);
    carrier = pick();
    prioritize(carrier, options?.priority ?? invocation.method.priority);
    id = carrier.open(call);
    call.carriedBy(carrier, id);
    call.listener = AnswerListener.of(options);
    if (itemsOf !== undefined) {
      call.items = itemsOf(carrier, id);
      call.items.compress = options?.compress;
    }
  } catch (error) {
    call.onError(RpcError.from(error, "internal"));
    return;
  }
  // From here on: encoding runs user code, which may fire the signal.
  call.unwatch = watch(options, timeoutMs, (error) => call.giveUp(error));
  try {
    call.requestBytes = sendRequest(carrier, id, FrameType.Request, invocation, input, head, itemsOf !== undefined);
  } catch (error) {
    call.onError(RpcError.from(error, "internal"));
  }
}

/** What goes with the request beside its message; undefined when nothing does. */
function requestHead(
  timeoutMs: number | undefined,
  options: CallOptions | undefined,
  limits: Limits,
): HeadFields | undefined {
  if (options?.metadata === undefined) return timeoutMs === undefined ? undefined : { timeoutMs };
  try {
    const metadata = encodeMetadata(Metadata.from(options.metadata), limits.maxMetadataBytes);
    return timeoutMs === undefined && metadata === undefined ? undefined : { timeoutMs, metadata };
  } catch (error) {
    throw RpcError.from(error, "invalid_argument");
  }
}

/** Returns the bytes of the request's frame. */
function sendRequest(
  carrier: Carrier,
  id: number,
  type: typeof FrameType.Request | typeof FrameType.Notify,
  { method, host: { limits, schemas }, options }: Invocation,
  input: unknown,
  given: HeadFields | undefined,
  itemsFollow: boolean = false,
): number {
  const { channel, format } = carrier;
  const codec = carrier.single ? format?.name : undefined;
  const fingerprint = schemas.greet(method);
  const head = codec === undefined && fingerprint === undefined ? given : { ...given, codec, fingerprint };
  let mark: number | undefined;
  try {
    channel.requireRoom();
    mark = channel.begin(head === undefined ? type : type | FLAG_HEAD, id);
    writeMethodId(channel.out, method.service.id, method.id);
    if (head !== undefined) writeHead(channel.out, head);
    if (!itemsFollow) {
      encodePayload(codecIn(format, method.input), input, channel, mark, limits.maxFrameBytes, options?.compress);
    }
  } catch (error) {
    if (mark !== undefined) channel.abandon(mark);
    if (type === FrameType.Request || carrier.single) carrier.withdraw(id);
    throw RpcError.from(error, "invalid_argument");
  }
  return channel.commit(mark, carrier.single && !itemsFollow);
}
