import { expiries, type Expiry } from "../call/expiries.js";
import { onAbort } from "../call/watch.js";
import {
  type AnyMethod,
  fullName,
  type MessageCodec,
  type PayloadWriter,
  unaryObstacle,
} from "../contract/descriptor.js";
import { RpcError, untracedError } from "../errors.js";
import { Metadata } from "../metadata.js";
import { decodeWithin } from "../msgpack/decode-within.js";
import { readyToDecode } from "../msgpack/slab.js";
import type { SentFault } from "../wire/sent-fault.js";
import { cutText, FrameWriter } from "../wire/writer.js";
import type { CallContext, ContextSettings, IncomingContext } from "./context.js";
import { faultOf } from "./reply.js";
import type { BoundMethod, MessageBytes, Router } from "./router.js";
import { type RequestHead, serveRequest, type ServerRequest } from "./serve.js";
import { ServedCall, type ServedCallSettings } from "./served-call.js";

/** Options of `InnerCalls`. */
interface InnerCallsOptions {
  /** Maximum number of calls in progress; further calls wait. */
  readonly maxConcurrent: number;
  /** Milliseconds after which the calls fail with `deadline_exceeded`, unless the outer call's deadline is earlier. */
  readonly maxMs: number;
}

type Settings = ServedCallSettings & ContextSettings<unknown>;
/** Part of `limits.maxFrameBytes` that a response may have, because an item with the response has to fit into a frame. */
const MESSAGE_PART = 0.7;
const NOTHING = new Uint8Array(0);

/** A call that waits or is in progress. */
interface Cancellable {
  cancel(reason: RpcError): void;
}

type Resolve = (message: Uint8Array) => void;
type Reject = (error: RpcError) => void;

/** Methods of routers by full name. */
const namedMethods: WeakMap<object, ReadonlyMap<string, BoundMethod>> = new WeakMap();

/**
 * Calls of the same server's methods, which a handler serves as parts of its own call: decoding, validation,
 * interceptors, deadlines, memory limits and errors are those of a call that arrives by itself. The calls have the
 * connection value of the outer call, and copies of its request metadata. Together they count as one call in progress,
 * until the last of their handlers has settled. They are cancelled with the outer call. `end` must be called.
 */
export class InnerCalls {
  /** Maximum number of bytes of a response. */
  readonly maxMessageBytes: number;
  private readonly deadline: number;
  private readonly context: IncomingContext<unknown>;
  private readonly settings: Settings;
  private readonly methods: ReadonlyMap<string, BoundMethod>;
  private readonly calls: Set<Cancellable> = new Set();
  /** Stops the calls at `deadline`; undefined before the first call. */
  private expiry: Expiry | undefined = undefined;
  /** Stops watching whether the outer call is cancelled. */
  private readonly unwatch: () => void;
  /** Counts a call in progress at the server. */
  private readonly holdPlace: () => () => void;
  /** Ends the call that is counted for handlers which run after `end`. */
  private releasePlace: (() => void) | undefined = undefined;
  private heldBytes = 0;
  /** Set when the calls were stopped. Later calls fail with it. */
  private reason: RpcError | undefined = undefined;
  private hasEnded = false;

  /** @param context the context that the handler of the outer call has received */
  constructor(context: CallContext, { maxConcurrent, maxMs }: InnerCallsOptions) {
    this.context = context as IncomingContext<unknown>;
    const { session, connection, identity, limits, once, principal, onError, served, admission, budget, client } = this
      .context.settings as Settings;
    if (served === undefined) throw new TypeError("this context is not that of a call which a server serves");
    const own = { session, connection, identity, limits, once, principal, onError, served, budget, client };
    this.settings = { ...own, admission: admission.within(maxConcurrent, () => this.onIdle()) };
    this.holdPlace = () => admission.hold(client);
    this.methods = methodsOf(served);
    this.maxMessageBytes = maxMessageBytesOf(this.settings);
    const { signal } = context;
    this.unwatch = onAbort(signal, () => this.stop(signal.reason as RpcError));
    this.deadline = Math.min(this.context.deadline ?? Number.POSITIVE_INFINITY, Date.now() + maxMs);
  }

  /**
   * Returns the descriptor of a method.
   *
   * @param name "service/method"
   * @throws `RpcError` `unimplemented` if the method is not served, or cannot be called in this way
   */
  method(name: string): AnyMethod {
    return this.bound(name).method;
  }

  /**
   * Serves a call when fewer than `maxConcurrent` calls are in progress and the session's handlers have time in this
   * turn of the event loop. Resolves with the encoded response. Rejects with the error that the caller of a call of its
   * own would receive.
   *
   * @param name "service/method"
   * @param message returns the encoded input in standard MessagePack, empty for a method without input. Called when the
   * call starts; its time counts as that of a handler. If it throws, the call fails: a caller without permission
   * receives the permission error instead
   */
  call(name: string, message: () => Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const bound = this.bound(name);
      this.requireOpen();
      this.expiry ??= this.startDeadline();
      const waiting: Cancellable = {
        cancel: (reason) => {
          leave?.();
          this.calls.delete(waiting);
          reject(reason);
        },
      };
      const leave = this.settings.admission.whenFree(() => {
        this.calls.delete(waiting);
        void serveRequest(
          new InnerRequest(this.calls, () => this.head(), bound, this.settings, message, resolve, reject),
        );
      });
      if (leave !== undefined) this.calls.add(waiting);
    });
  }

  /**
   * Returns an error of `method` in the form that is sent to its caller: with encoded details, and in `head` the name of
   * a declared error. If the details do not match their schema, reports that to `onError` and omits the name.
   */
  fault(method: AnyMethod, error: RpcError): SentFault {
    const { onError, limits } = this.settings;
    const onMisfit = (misfit: unknown): void => onError(misfit, { method: fullName(method) });
    const fault = faultOf(error, method, undefined, onMisfit);
    return { ...fault, message: cutText(fault.message, limits.maxErrorMessageBytes) };
  }

  /** Encodes a message, within the steps of validation that decoding a message may take. */
  encode(codec: Pick<MessageCodec<unknown>, "encode">, value: unknown, out: PayloadWriter): void {
    decodeWithin(this.settings.budget, { decode: () => codec.encode(value, out) }, NOTHING, 0, 0);
  }

  /**
   * Decodes a message within the memory budget of the outer call, which holds it until `end`. Its time counts as that of
   * a handler.
   */
  decode(codec: Pick<MessageCodec<unknown>, "decode">, message: Uint8Array): unknown {
    const { budget, admission } = this.settings;
    let value: unknown;
    admission.measure(() => {
      const { bytes, position, end } = readyToDecode(message);
      value = decodeWithin(budget, codec, bytes, position, end);
    });
    this.hold(budget.decodedBytes);
    return value;
  }

  /** Charges bytes that the handler holds until `end` to the memory budget. Throws `RpcError` if it has no room. */
  hold(bytes: number): void {
    if (this.hasEnded) this.requireOpen();
    const { budget } = this.settings;
    this.heldBytes += bytes;
    if (!budget.charge(bytes)) throw budget.refusal(fullName(this.context.method));
  }

  /** Cancels the calls in progress, refuses later ones, and releases the memory. */
  end(): void {
    this.unwatch();
    this.hasEnded = true;
    if (this.expiry !== undefined) expiries.remove(this.expiry);
    if (this.calls.size > 0) this.stop(this.reason ?? overError());
    this.settings.budget.release(this.heldBytes);
    this.heldBytes = 0;
    if (this.settings.admission.calls > 0) this.releasePlace ??= this.holdPlace();
  }

  private bound(name: string): BoundMethod {
    const bound = this.methods.get(name);
    if (bound === undefined) throw new RpcError("unimplemented", `${name} is not served here`);
    const obstacle = unaryObstacle(bound.method);
    if (obstacle === undefined) return bound;
    throw new RpcError("unimplemented", `${name} is ${obstacle}, and has to be called by itself`);
  }

  private startDeadline(): Expiry {
    const expire = (): void => this.stop(untracedError("deadline_exceeded", "the deadline has passed"));
    return expiries.add(this.deadline - Date.now(), expire);
  }

  private requireOpen(): void {
    if (this.hasEnded) this.reason ??= overError();
    if (this.reason !== undefined) throw this.reason;
  }

  private stop(reason: RpcError): void {
    this.reason ??= reason;
    if (this.expiry !== undefined) expiries.remove(this.expiry);
    for (const call of this.calls) call.cancel(this.reason);
  }

  private onIdle(): void {
    this.releasePlace?.();
    this.releasePlace = undefined;
  }

  /** Fields of each request. Throws the reason if the outer call is over. */
  private head(): RequestHead {
    this.requireOpen();
    const timeoutMs = Number.isFinite(this.deadline) ? Math.max(0, this.deadline - Date.now()) : undefined;
    // Copied at the first change, because interceptors may change the metadata of a call.
    const metadata = (): Metadata => Metadata.reading(() => this.context.metadata);
    return { timeoutMs, metadata, from: undefined };
  }
}

function overError(): RpcError {
  return untracedError("cancelled", "the outer call is over");
}

function methodsOf(served: Router<never>): ReadonlyMap<string, BoundMethod> {
  let methods = namedMethods.get(served);
  if (methods === undefined) {
    methods = new Map((served as Router).methods.map((bound) => [fullName(bound.method), bound]));
    namedMethods.set(served, methods);
  }
  return methods;
}

function maxMessageBytesOf({ limits }: ServedCallSettings): number {
  return Math.floor(limits.maxFrameBytes * MESSAGE_PART);
}

class InnerRequest implements ServerRequest {
  readonly bound: BoundMethod;
  readonly settings: Settings;
  readonly isAnswered = true;
  readonly encoding = "msgpack";
  readonly resolve: Resolve;
  readonly reject: Reject;
  readonly calls: Set<Cancellable>;
  readonly readHead: () => RequestHead;
  private readonly message: () => Uint8Array;
  private bytes: Uint8Array = NOTHING;

  constructor(
    calls: Set<Cancellable>,
    readHead: () => RequestHead,
    bound: BoundMethod,
    settings: Settings,
    message: () => Uint8Array,
    resolve: Resolve,
    reject: Reject,
  ) {
    this.calls = calls;
    this.readHead = readHead;
    this.bound = bound;
    this.settings = settings;
    this.message = message;
    this.resolve = resolve;
    this.reject = reject;
  }

  get size(): number {
    return this.bytes.length;
  }

  get codec(): MessageCodec<unknown> | undefined {
    return this.bound.method.input;
  }

  readMessage(): MessageBytes {
    this.bytes = this.message();
    return readyToDecode(this.bytes);
  }

  respond(context: IncomingContext<unknown>, input: unknown, bytes: number): void {
    this.answer(context, bytes).serve(this.bound, input);
  }

  answer(context: IncomingContext<unknown>, bytes: number): InnerCall {
    return new InnerCall(this, context, bytes);
  }

  explain(error: unknown): RpcError {
    return RpcError.from(error, "invalid_argument");
  }

  refuse(error: RpcError): void {
    this.reject(error);
  }
}

class InnerCall extends ServedCall {
  private readonly request: InnerRequest;

  constructor(request: InnerRequest, context: IncomingContext<unknown>, bytes: number) {
    super(context, request.settings, bytes);
    this.request = request;
  }

  cancel(reason: RpcError): void {
    this.giveUp(reason, false);
  }

  get flow(): never {
    throw new TypeError("an inner call has no items");
  }

  item(): void {}

  end(): void {}

  sendMetadata(): void {}

  protected sendResult(value: unknown): void {
    const out = new FrameWriter();
    const maxMessageBytes = maxMessageBytesOf(this.settings);
    try {
      this.context?.method.output?.encode(value, out);
      if (out.position > maxMessageBytes) {
        const text = `a response of ${out.position} bytes is too large for a batch: the maximum is ${maxMessageBytes} bytes, 70 % of limits.maxFrameBytes`;
        throw new RpcError("resource_exhausted", text, { hint: `call ${this.methodName()} by itself` });
      }
      this.request.resolve(out.written().slice());
    } catch (error) {
      throw this.misfit(error);
    } finally {
      out.clear();
    }
  }

  protected sendError(error: RpcError): void {
    this.request.reject(error);
  }

  protected onEntered(): void {
    this.request.calls.add(this);
  }

  protected onLeft(): void {
    this.request.calls.delete(this);
  }

  protected startItems(): void {}

  protected stopItems(): void {}
}
