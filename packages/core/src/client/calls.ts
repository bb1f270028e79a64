import type { Carrier, OutgoingCall } from "../call/carrier.js";
import { decodeMessage, ItemReceiver } from "../call/item-receiver.js";
import type { ItemStream } from "../call/item-stream.js";
import { type AnyMethod, fullName, streamsInput } from "../contract/descriptor.js";
import { type Code, ProtocolError, RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import type { Frame } from "../wire/frame.js";
import { OutgoingItems } from "./outgoing-items.js";

/** A call that this side makes: what its carrier and what starts it see. */
export abstract class Call implements OutgoingCall {
  /** Undoes the watch over signal and time. */
  unwatch: (() => void) | undefined;
  /** What the caller streams; undefined for a call of one message. */
  items: OutgoingItems | undefined;
  readonly method: AnyMethod;
  private carrier: Carrier | undefined;
  private id = 0;
  private over = false;

  constructor(method: AnyMethod) {
    this.method = method;
  }

  /** The call has its carrier and id; its request is about to be sent. */
  carriedBy(carrier: Carrier, id: number, limits: Limits): void {
    this.carrier = carrier;
    this.id = id;
    if (!streamsInput(this.method)) return;
    this.items = new OutgoingItems(carrier, id, this.method, limits, (error) => {
      this.giveUp(RpcError.from(error, "unknown"), "cancelled");
    });
  }

  /** Ends the call from this side, unless it is over: its id may serve another by now. */
  giveUp(error: RpcError, code: Code = error.code): void {
    if (this.over) return;
    this.onError(error);
    this.carrier?.cancel(this.id, code);
  }

  onCredit(bytes: number): void {
    this.items?.flow.grant(bytes);
  }

  onStopped(): void {
    this.items?.stop();
  }

  abstract onResponse(frame: Frame): void;
  abstract onItem(frame: Frame): void;
  abstract onItemsEnd(): void;
  abstract onDone(): void;
  abstract onError(error: RpcError): void;

  /** The call is over, whichever way. */
  protected settle(): void {
    this.over = true;
    this.unwatch?.();
    this.unwatch = undefined;
    this.items?.stop();
  }

  /** The peer sent what its own schema forbids: not the caller's fault, whatever the codec calls it. */
  protected unreadable(error: unknown): RpcError {
    const { code, message, details } = RpcError.from(error);
    if (code === "unimplemented") return new RpcError(code, message);
    const text = `the answer of ${fullName(this.method)} does not fit its schema: ${message}`;
    return new RpcError("internal", text, { details, cause: error });
  }
}

/** A call with one answer: unary, or client streaming. */
export class AnsweredCall extends Call {
  private readonly resolve: (value: unknown) => void;
  private readonly reject: (error: RpcError) => void;

  constructor(method: AnyMethod, resolve: (value: unknown) => void, reject: (error: RpcError) => void) {
    super(method);
    this.resolve = resolve;
    this.reject = reject;
  }

  onResponse(frame: Frame): void {
    this.settle();
    let result: unknown;
    try {
      result = decodeMessage(this.method.output, frame);
    } catch (error) {
      this.reject(this.unreadable(error));
      return;
    }
    this.resolve(result);
  }

  onItem(): void {
    this.giveUp(new RpcError("internal", "an item in a call with one answer"));
  }

  onItemsEnd(): void {
    this.onItem();
  }

  onDone(): void {
    this.onError(new RpcError("internal", "the call ended without a response"));
  }

  onError(error: RpcError): void {
    this.settle();
    this.reject(error);
  }
}

/** A call whose answer is a stream: server streaming, or duplex. */
export class StreamedCall extends Call {
  /** Told of the end: the error, or undefined after a good one. */
  onOver: ((error: RpcError | undefined) => void) | undefined;
  private readonly receiver: ItemReceiver;

  constructor(method: AnyMethod) {
    super(method);
    this.receiver = new ItemReceiver(method.output, () => {
      this.giveUp(new RpcError("cancelled", "the caller wants no more items"));
    });
  }

  get stream(): ItemStream<unknown> {
    return this.receiver.stream;
  }

  override carriedBy(carrier: Carrier, id: number, limits: Limits): void {
    super.carriedBy(carrier, id, limits);
    this.receiver.carriedBy(carrier, id);
  }

  onItem(frame: Frame): void {
    try {
      this.receiver.receive(frame);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      this.giveUp(this.unreadable(error));
    }
  }

  onResponse(): void {
    this.onError(new RpcError("internal", "a response in a call that streams its answer"));
  }

  onItemsEnd(): void {
    this.receiver.end(undefined);
  }

  onDone(): void {
    this.end(undefined);
  }

  onError(error: RpcError): void {
    this.end(error);
  }

  private end(error: RpcError | undefined): void {
    this.settle();
    this.receiver.end(error);
    this.onOver?.(error);
    this.onOver = undefined;
  }
}
