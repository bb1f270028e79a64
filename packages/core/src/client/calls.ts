import { rejectionAtCaller } from "../callers-line.js";
import type { BulkMethods } from "../call/bulk.js";
import type { Carrier, OutgoingCall } from "../call/carrier.js";
import { errorOf } from "../call/fault.js";
import { ItemReceiver } from "../call/item-receiver.js";
import type { ItemStream, NewItemQueue } from "../call/item-stream.js";
import { decodePayload } from "../call/payload.js";
import type { SchemaHandshake } from "../call/schemas.js";
import { codecIn } from "../call/session-format.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { type Code, ProtocolError, RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import { Cursor } from "../wire/cursor.js";
import type { ReceivedFault } from "../wire/fault.js";
import type { Frame } from "../wire/frame.js";
import type { Head } from "../wire/head.js";
import { readOptionalHead } from "../wire/request.js";
import type { AnswerListener } from "./answer-listener.js";
import { failureOf } from "./failure.js";
import type { OutgoingItems } from "./outgoing-items.js";

/** What the calls of one session share. */
export interface CallHost {
  readonly limits: Limits;
  readonly schemas: SchemaHandshake;
  /** The methods whose messages are large; undefined where no call shares a lane. */
  readonly bulk: BulkMethods | undefined;
  /** The peer's name in errors, such as its URL. */
  readonly peer: string | undefined;
}

/** What a call is made with. */
export interface CallSettings {
  readonly method: AnyMethod;
  readonly host: CallHost;
}

/** A call that this side makes: what its carrier and what starts it see. */
export abstract class Call implements OutgoingCall {
  /** Undoes the watch over signal and time. */
  unwatch: (() => void) | undefined;
  /** What the caller streams; undefined for a call of one message. */
  items: OutgoingItems | undefined;
  /** Who asked for metadata and trailers. */
  listener: AnswerListener | undefined;
  readonly method: AnyMethod;
  protected readonly host: CallHost;
  /** The callee has begun to answer: no headers may follow. */
  protected answered = false;
  protected carrier: Carrier | undefined;
  /** Of the request's frame. */
  requestBytes = 0;
  private id = 0;
  protected over = false;

  constructor({ method, host }: CallSettings) {
    this.method = method;
    this.host = host;
  }

  /** The call has its carrier and id; its request is about to be sent. */
  carriedBy(carrier: Carrier, id: number): void {
    this.carrier = carrier;
    this.id = id;
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

  onHeaders(frame: Frame): void {
    if (this.answered) throw new ProtocolError("headers after the callee began to answer");
    this.answered = true;
    try {
      const head = this.readHead(frame, cursorOf(frame));
      this.onMetadata(head);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      this.giveUp(this.host.schemas.unreadable(this.method, error));
    }
  }

  onFault(fault: ReceivedFault): void {
    if (!this.answered) this.onMetadata(fault.head);
    this.onTrailers(fault.head);
    this.onError(errorOf(fault, this.method));
  }

  abstract onResponse(frame: Frame): void;
  abstract onItem(frame: Frame): void;
  abstract onItemsEnd(): void;
  abstract onDone(frame: Frame): void;
  abstract onError(error: RpcError): void;

  /** The callee's metadata has come, or will not. */
  protected onMetadata(head: Head | undefined): void {
    this.answered = true;
    if (head?.fingerprint !== undefined) this.host.schemas.learn(this.method, head.fingerprint);
    this.listener?.header(head?.metadata);
  }

  protected onTrailers(head: Head | undefined): void {
    this.listener?.trailer(head?.trailers);
  }

  protected readHead(frame: Frame, cursor: Cursor): Head | undefined {
    return readOptionalHead(frame, cursor, this.host.limits.maxMetadataBytes);
  }

  /** The call is over, whichever way. */
  protected settle(): void {
    this.over = true;
    this.unwatch?.();
    this.unwatch = undefined;
    this.items?.stop();
  }
}

/** A call with one answer: unary, or client streaming. */
export class AnsweredCall extends Call {
  private readonly resolve: (answer: unknown) => void;
  private readonly onFailed: (() => void) | undefined;

  /** @param resolve gets the answer, or a promise that rejects */
  constructor(settings: CallSettings, resolve: (answer: unknown) => void, onFailed: (() => void) | undefined) {
    super(settings);
    this.resolve = resolve;
    this.onFailed = onFailed;
  }

  onResponse(frame: Frame): void {
    this.settle();
    this.host.bulk?.note(this.method, Math.max(this.requestBytes, frame.size));
    let result: unknown;
    try {
      const cursor = cursorOf(frame);
      const head = this.readHead(frame, cursor);
      if (!this.answered) this.onMetadata(head);
      this.onTrailers(head);
      const codec = codecIn(this.carrier?.format, this.method.output);
      const { channel } = this.carrier as Carrier;
      result = decodePayload(codec, frame, cursor, channel.compression, channel.budget);
    } catch (error) {
      this.fail(this.host.schemas.unreadable(this.method, error));
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
    if (this.over) return;
    this.settle();
    this.fail(error);
  }

  private fail(error: RpcError): void {
    this.resolve(rejectionAtCaller(failureOf(error, this.method, this.host.peer)));
    this.onFailed?.();
  }
}

/** A call whose answer is a stream: server streaming, or duplex. */
export class StreamedCall extends Call {
  /** Told of the end: the error, or undefined after a good one. */
  onOver: ((error: RpcError | undefined) => void) | undefined;
  private readonly receiver: ItemReceiver;

  constructor(settings: CallSettings, newQueue: NewItemQueue) {
    super(settings);
    this.receiver = new ItemReceiver(newQueue, settings.host.limits, () => {
      this.giveUp(new RpcError("cancelled", "the caller wants no more items"));
    });
  }

  get stream(): ItemStream<unknown> {
    return this.receiver.stream;
  }

  override carriedBy(carrier: Carrier, id: number): void {
    super.carriedBy(carrier, id);
    this.receiver.carriedBy(carrier, id, codecIn(carrier.format, this.method.output));
  }

  onItem(frame: Frame): void {
    if (!this.answered) this.onMetadata(undefined);
    try {
      this.receiver.receive(frame);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      this.giveUp(this.host.schemas.unreadable(this.method, error));
    }
  }

  onResponse(): void {
    this.onError(new RpcError("internal", "a response in a call that streams its answer"));
  }

  onItemsEnd(): void {
    this.receiver.end(undefined);
  }

  onDone(frame: Frame): void {
    try {
      const head = this.readHead(frame, cursorOf(frame));
      if (!this.answered) this.onMetadata(head);
      this.onTrailers(head);
    } catch (error) {
      this.end(this.host.schemas.unreadable(this.method, error));
      return;
    }
    this.end(undefined);
  }

  onError(error: RpcError): void {
    this.end(error);
  }

  protected override onMetadata(head: Head | undefined): void {
    if (head?.metadata !== undefined) this.receiver.hear(head.metadata, undefined);
    super.onMetadata(head);
  }

  protected override onTrailers(head: Head | undefined): void {
    if (head?.trailers !== undefined) this.receiver.hear(undefined, head.trailers);
    super.onTrailers(head);
  }

  private end(given: RpcError | undefined): void {
    this.settle();
    const error = given && failureOf(given, this.method, this.host.peer);
    this.receiver.end(error);
    this.receiver.releaseAll();
    this.onOver?.(error);
    this.onOver = undefined;
  }
}

function cursorOf({ bytes, start, end }: Frame): Cursor {
  return new Cursor(bytes, start, end);
}
