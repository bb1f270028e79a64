import type { Carrier, OutgoingCall } from "../call/carrier.js";
import { receiveFlow, type ReceiveFlow } from "../call/flow.js";
import { ItemQueue, ItemStream } from "../call/item-stream.js";
import { type CallOptions, throwIfAborted, timeoutOf, watch } from "../call/options.js";
import { decodePayload, encodePayload } from "../call/payload.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { ProtocolError, RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import { Cursor } from "../wire/cursor.js";
import { FLAG_HEAD, type Frame, FrameType } from "../wire/frame.js";
import { writeHead } from "../wire/head.js";
import { readOptionalHead, writeMethodId } from "../wire/request.js";

/** Picks what carries a call; throws `RpcError` when nothing can. */
export type PickCarrier = () => Carrier;

/** One unary call: request out, response or error in. */
export function invokeUnary(
  pick: PickCarrier,
  method: AnyMethod<"unary">,
  input: unknown,
  options: CallOptions | undefined,
  limits: Limits,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const call = new UnaryCall(method, resolve, reject);
    startCall(call, pick, method, input, options, limits);
  });
}

/** One notification: sent and forgotten. */
export function invokeNotify(
  pick: PickCarrier,
  method: AnyMethod<"notify">,
  input: unknown,
  options: CallOptions | undefined,
  limits: Limits,
): void {
  timeoutOf(options, limits);
  throwIfAborted(options?.signal);
  const carrier = pick();
  sendRequest(carrier, carrier.notifyId, FrameType.Notify, method, input, undefined, limits);
}

/** One server-streaming call: request out, items in until end or error. */
export function invokeServerStream(
  pick: PickCarrier,
  method: AnyMethod<"server_stream">,
  input: unknown,
  options: CallOptions | undefined,
  limits: Limits,
): ItemStream<unknown> {
  const call = new ItemsCall(method);
  startCall(call, pick, method, input, options, limits);
  return call.stream;
}

/** A call that this side makes, with what gives it up by signal or time. */
interface StartedCall extends OutgoingCall {
  /** Undoes the watch over signal and time. */
  unwatch: (() => void) | undefined;
  carriedBy(carrier: Carrier, id: number): void;
}

/** Sends the request; whatever fails on the way is the call's error. */
function startCall(
  call: StartedCall,
  pick: PickCarrier,
  method: AnyMethod,
  input: unknown,
  options: CallOptions | undefined,
  limits: Limits,
): void {
  let carrier: Carrier;
  let id: number;
  let timeoutMs: number | undefined;
  try {
    timeoutMs = timeoutOf(options, limits);
    throwIfAborted(options?.signal);
    carrier = pick();
    id = carrier.open(call);
    call.carriedBy(carrier, id);
  } catch (error) {
    call.onError(RpcError.from(error, "internal"));
    return;
  }
  // From here on: encoding runs user code, which may fire the signal.
  call.unwatch = watch(options?.signal, timeoutMs, (error) => {
    call.onError(error);
    carrier.cancel(id, error.code);
  });
  try {
    sendRequest(carrier, id, FrameType.Request, method, input, timeoutMs, limits);
  } catch (error) {
    call.onError(RpcError.from(error, "internal"));
  }
}

function sendRequest(
  carrier: Carrier,
  id: number,
  type: typeof FrameType.Request | typeof FrameType.Notify,
  method: AnyMethod,
  input: unknown,
  timeoutMs: number | undefined,
  limits: Limits,
): void {
  const { channel } = carrier;
  let mark: number | undefined;
  try {
    if (channel.overfull) {
      const text = `the peer does not read: limits.maxUnsentBytes is ${limits.maxUnsentBytes}`;
      throw new RpcError("resource_exhausted", text);
    }
    mark = channel.begin(timeoutMs === undefined ? type : type | FLAG_HEAD, id);
    writeMethodId(channel.out, method.service.id, method.id);
    if (timeoutMs !== undefined) writeHead(channel.out, timeoutMs);
    encodePayload(method.input, input, channel.out, mark, limits.maxFrameBytes);
  } catch (error) {
    if (mark !== undefined) channel.abandon(mark);
    if (type === FrameType.Request || carrier.single) carrier.withdraw(id);
    throw RpcError.from(error, "invalid_argument");
  }
  channel.commit(mark, carrier.single);
}

class UnaryCall implements StartedCall {
  unwatch: (() => void) | undefined;
  private readonly method: AnyMethod;
  private readonly resolve: (value: unknown) => void;
  private readonly reject: (error: RpcError) => void;

  constructor(method: AnyMethod, resolve: (value: unknown) => void, reject: (error: RpcError) => void) {
    this.method = method;
    this.resolve = resolve;
    this.reject = reject;
  }

  carriedBy(): void {}

  onResponse(frame: Frame): void {
    this.unwatch?.();
    let result: unknown;
    try {
      result = decodeMessage(this.method, frame);
    } catch (error) {
      this.reject(unreadable(this.method, error));
      return;
    }
    this.resolve(result);
  }

  onItem(): void {
    throw new ProtocolError("an item in a unary call");
  }

  onDone(): void {
    this.onError(new RpcError("internal", "a unary call ended without a response"));
  }

  onError(error: RpcError): void {
    this.unwatch?.();
    this.reject(error);
  }
}

class ItemsCall implements StartedCall {
  unwatch: (() => void) | undefined;
  readonly stream: ItemStream<unknown>;
  private readonly queue: ItemQueue<unknown>;
  private readonly method: AnyMethod;
  private carrier: Carrier | undefined;
  private id = 0;
  private flow: ReceiveFlow | undefined;

  constructor(method: AnyMethod) {
    this.method = method;
    this.queue = new ItemQueue({
      onTaken: (size) => this.flow?.consumed(size),
      onAbandoned: () => this.abandoned(),
    });
    this.stream = new ItemStream(this.queue);
  }

  carriedBy(carrier: Carrier, id: number): void {
    this.carrier = carrier;
    this.id = id;
    this.flow = receiveFlow(carrier, id);
  }

  onItem(frame: Frame): void {
    const { size } = frame;
    this.flow?.received(size);
    let item: unknown;
    try {
      item = decodeMessage(this.method, frame);
    } catch (error) {
      this.onError(unreadable(this.method, error));
      this.carrier?.cancel(this.id, "internal");
      return;
    }
    this.queue.push(item, size);
  }

  onResponse(): void {
    this.onError(new RpcError("internal", "a response in a call that streams its answer"));
  }

  onDone(): void {
    this.over();
    this.queue.end(undefined);
  }

  onError(error: RpcError): void {
    this.over();
    this.queue.end(error);
  }

  private abandoned(): void {
    this.over();
    this.carrier?.cancel(this.id, "cancelled");
  }

  private over(): void {
    this.flow?.end();
    this.unwatch?.();
    this.unwatch = undefined;
  }
}

function decodeMessage(method: AnyMethod, frame: Frame): unknown {
  const cursor = new Cursor(frame.bytes, frame.start, frame.end);
  readOptionalHead(frame, cursor);
  return decodePayload(method.output, cursor);
}

/** The peer sent what its own schema forbids: not the caller's fault, whatever the codec calls it. */
function unreadable(method: AnyMethod, error: unknown): RpcError {
  const { code, message, details } = RpcError.from(error);
  if (code === "unimplemented") return new RpcError(code, message);
  const text = `the answer of ${method.service.name}/${method.name} does not fit its schema: ${message}`;
  return new RpcError("internal", text, { details, cause: error });
}
