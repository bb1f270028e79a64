import type { Carrier, OutgoingCall } from "../call/carrier.js";
import { expiries } from "../call/expiries.js";
import { errorOf, type Fault } from "../call/fault.js";
import { type CallOptions, throwIfAborted, timeoutOf } from "../call/options.js";
import { watch } from "../call/watch.js";
import { asError, type Code, ProtocolError, RpcError } from "../errors.js";
import { guarded } from "../guarded.js";
import { type Cursor, cursorOf } from "../wire/cursor.js";
import { FLAG_HEAD, type Frame } from "../wire/frame.js";
import { type Head, type HeadFields, readHead } from "../wire/head.js";
import { decodeMetadata, encodeMetadata } from "../wire/metadata.js";
import type { CallingHost } from "./calling.js";
import type { OutgoingItems } from "./client-stream.js";
import { callFailureOf, PendingCall, type SentItems } from "./pending-call.js";
import * as FrameType from "../wire/frame-type.js";
import { codecIn, sendMessage } from "../call/messages/payload.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { ClientLimits } from "../client-limits.js";
import { Metadata } from "../metadata.js";
import { requireCursor } from "../contract/cursor.js";

/** A call that this side makes on a session. Subclasses decode the response. */
export abstract class Call extends PendingCall implements OutgoingCall {
  /** Sends the items of the caller. Undefined before the call is started, and if the caller sends a single message. */
  override items: SentItems | undefined;
  /** The session of the call. Set by `start`. */
  protected host!: CallingHost;
  protected options: CallOptions | undefined = undefined;
  protected carrier: Carrier | undefined = undefined;
  /** Whether the callee has started to respond. After that, a headers frame is a protocol error. */
  protected answered = false;
  /** Size of the request's frame in bytes. */
  protected requestBytes = 0;
  private id = 0;

  // Without it, the compiler adds one that passes its arguments on by spreading them, which is slow.
  constructor(method: AnyMethod) {
    super(method);
    this.items = undefined;
  }

  /**
   * Sends the request on a lane or stream of the session. If that fails, ends the call with the error. Called again if
   * the owner repeats a refused call.
   */
  start(host: CallingHost, input: unknown, options: CallOptions | undefined): void {
    const { method } = this;
    this.host = host;
    this.options = options;
    this.answered = false;
    this.unwatch = undefined;
    let timeoutMs: number | undefined;
    let head: HeadFields | undefined;
    let carrier: Carrier;
    try {
      if (options !== undefined) {
        timeoutMs = timeoutOf(options, host.limits);
        throwIfAborted(options);
        head = requestHead(timeoutMs, options, host.limits);
      }
      carrier = host.carrierFor(method, options);
      this.onCarrier(carrier, carrier.open(this));
    } catch (error) {
      this.onError(RpcError.from(error, "internal"));
      return;
    }
    try {
      // Before the request is encoded, because encoding runs user code, which may abort the signal.
      if (options !== undefined) this.unwatch = watch(options, timeoutMs, this, expiries);
      this.requestBytes = sendRequest(
        host,
        carrier,
        FrameType.Request,
        this.id,
        method,
        options,
        head,
        input,
        this.items !== undefined,
      );
    } catch (error) {
      this.onError(RpcError.from(error, "internal"));
    }
  }

  /**
   * Ends the call with `error` and tells the callee. Does nothing if the call has ended, because its id may already
   * belong to another call.
   */
  cancel(error: RpcError, code: Code = error.code): void {
    if (this.over) return;
    const { carrier } = this;
    this.onError(error);
    carrier?.cancel(this.id, code);
  }

  onCredit(bytes: number): void {
    (this.items as OutgoingItems | undefined)?.flow.grant(bytes);
  }

  onStopped(): void {
    this.items?.stop();
  }

  /** Handles headers, which may precede every response. Subclasses handle the other frames. */
  onFrame(frame: Frame): void {
    if (frame.type !== FrameType.Headers) throw new ProtocolError(`frame type ${frame.type} is not for the caller`);
    if (this.answered) throw new ProtocolError("headers after the callee began to answer");
    this.answered = true;
    try {
      const cursor = cursorOf(frame);
      this.onMetadata((frame.flags & FLAG_HEAD) === 0 ? undefined : this.readHead(cursor));
    } catch (error) {
      this.onUnreadable(error);
    }
  }

  onFault(fault: Fault): void {
    this.onLastHead(fault.head);
    const error = errorOf(fault, this.method, this.host.explain);
    if (error.code === "unauthenticated") this.host.onUnauthenticated?.();
    this.onError(error);
  }

  onError(error: RpcError): void {
    this.end(callFailureOf(error, this.method, this.host?.peer));
  }

  /** Called when the call has been assigned to a lane or stream and has an id, before its request is sent. */
  protected onCarrier(carrier: Carrier, id: number): void {
    this.carrier = carrier;
    this.id = id;
  }

  /** Reads the optional head of the last frame of the response. Returns the index of the payload's first byte. */
  protected onLastFrame(frame: Frame): number {
    if ((frame.flags & FLAG_HEAD) === 0) {
      this.onLastHead(undefined);
      return frame.start;
    }
    const cursor = cursorOf(frame);
    this.onLastHead(this.readHead(cursor));
    return cursor.position;
  }

  /** Called when the response metadata has arrived, or when it is certain that there is none. */
  protected onMetadata(head: Head | undefined): void {
    this.answered = true;
    if (head?.fingerprint !== undefined) this.host.schemas.learn(this.method, head.fingerprint);
    const onResponseMetadata = this.options?.onResponseMetadata;
    if (onResponseMetadata !== undefined) guarded(onResponseMetadata)(decodeMetadata(head?.metadata));
  }

  protected onTrailers(head: Head | undefined): void {
    const onTrailers = this.options?.onTrailers;
    if (onTrailers !== undefined) guarded(onTrailers)(decodeMetadata(head?.trailers));
  }

  /**
   * Cancels the call because its response cannot be decoded. Rethrows a `ProtocolError`, because it concerns the whole
   * lane or stream.
   */
  protected onUnreadable(error: unknown): void {
    if (asError(error) instanceof ProtocolError) throw error;
    this.cancel(this.host.unreadable(this.method, error));
  }

  protected override settle(): void {
    super.settle();
    this.carrier = undefined;
  }

  private onLastHead(head: Head | undefined): void {
    if (!this.answered) this.onMetadata(head);
    this.onTrailers(head);
  }

  private readHead(cursor: Cursor): Head {
    return readHead(cursor, this.host.limits.maxMetadataBytes);
  }
}

/**
 * Returns the optional head of a request: the timeout, metadata, cursor and resume field from the call's options.
 * Undefined if none of them is set.
 */
export function requestHead(
  timeoutMs: number | undefined,
  { metadata: metadataInit, from, resume }: CallOptions,
  limits: ClientLimits,
): HeadFields | undefined {
  if (from !== undefined) requireCursor(from);
  const isPlain = timeoutMs === undefined && from === undefined && resume === undefined;
  if (metadataInit === undefined) return isPlain ? undefined : { timeoutMs, from, resume };
  try {
    const metadata = encodeMetadata(Metadata.from(metadataInit), limits.maxMetadataBytes);
    return isPlain && metadata === undefined ? undefined : { timeoutMs, metadata, from, resume };
  } catch (error) {
    throw RpcError.from(error, "invalid_argument");
  }
}

/**
 * Sends a request or notification, and returns the size of its frame in bytes. If it throws, nothing was sent, and the
 * call has been removed from its carrier.
 *
 * @param fields the head for the options of the call
 * @param itemsFollow true if the caller streams its input: the request then has no payload and does not end the stream
 */
export function sendRequest(
  { schemas }: CallingHost,
  carrier: Carrier,
  type: typeof FrameType.Request | typeof FrameType.Notify,
  id: number,
  method: AnyMethod,
  options: CallOptions | undefined,
  fields: HeadFields | undefined,
  input: unknown,
  itemsFollow: boolean = false,
): number {
  const { channel, format, single } = carrier;
  const formatName = single ? format?.name : undefined;
  const fingerprint = schemas.unsent(method);
  const isPlain = formatName === undefined && fingerprint === undefined;
  const head = isPlain ? fields : { ...fields, codec: formatName, fingerprint };
  const codec = itemsFollow ? undefined : codecIn(format, method.input);
  try {
    channel.requireRoom();
    const size = sendMessage(channel, type, id, codec, input, single && !itemsFollow, head, options?.compress, method);
    if (fingerprint !== undefined) schemas.sent(method);
    return size;
  } catch (error) {
    if (type === FrameType.Request || single) carrier.withdraw(id);
    throw RpcError.from(error, "invalid_argument");
  }
}
