import type { Carrier } from "../call/carrier.js";
import { ItemReceiver } from "../call/items/item-receiver.js";
import type { ItemStream } from "../call/items/item-stream.js";
import type { AnyAnswer } from "../call/base-caller.js";
import type { CallOptions } from "../call/options.js";
import { codecIn } from "../call/messages/payload.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { RpcError, untracedError } from "../errors.js";
import type { Frame } from "../wire/frame.js";
import * as FrameType from "../wire/frame-type.js";
import type { Head } from "../wire/head.js";
import { Call } from "./call.js";
import { atEnd } from "./pending-call.js";
import type { Calling } from "./calling.js";

/** Server-streaming calls: the caller sends one request, the callee sends items. */
export const serverStreamCalls: Calling<"server_stream"> = {
  kind: "server_stream",
  create: (method, options) => new StreamedCall(method, options),
};

/** A call whose response is a stream: server-streaming or duplex. */
export class StreamedCall extends Call {
  /** Called when the call has ended: with its error, or with undefined if it succeeded. */
  onOver: ((error: RpcError | undefined) => void) | undefined = undefined;
  readonly receiver: ItemReceiver;

  constructor(method: AnyMethod, options: CallOptions | undefined) {
    super(method);
    // An error without a stack, because the caller stops deliberately and capturing a stack is slow.
    const onLeave = (): void => this.cancel(untracedError("cancelled", "the caller wants no more items"));
    this.receiver = new ItemReceiver(onLeave, options?.attempt !== undefined);
  }

  get answer(): AnyAnswer {
    return this.receiver.stream;
  }

  override received(): boolean {
    return this.receiver.queue.used;
  }

  override follow(answer: unknown): void {
    const items = answer as ItemStream<unknown>;
    atEnd(
      this,
      this.receiver.queue.follow(items, items, (error) => this.end(error as RpcError | undefined)),
    );
  }

  override onFrame(frame: Frame): void {
    switch (frame.type) {
      case FrameType.Item:
        this.onItem(frame);
        return;
      case FrameType.HalfEnd:
        this.receiver.end(undefined);
        return;
      case FrameType.End:
        this.onEnd(frame);
        return;
      case FrameType.Response:
        this.onError(new RpcError("internal", "a response in a call that streams its answer"));
        return;
      default:
        super.onFrame(frame);
    }
  }

  private onItem(frame: Frame): void {
    if (!this.answered) this.onMetadata(undefined);
    try {
      this.receiver.receive(frame);
    } catch (error) {
      this.onUnreadable(error);
    }
  }

  private onEnd(frame: Frame): void {
    try {
      this.onLastFrame(frame);
    } catch (error) {
      this.onError(this.host.unreadable(this.method, error));
      return;
    }
    this.end(undefined);
  }

  protected override onCarrier(carrier: Carrier, id: number): void {
    super.onCarrier(carrier, id);
    this.receiver.carriedBy(carrier, id, codecIn(carrier.format, this.method.output), this.host.limits);
  }

  protected override onMetadata(head: Head | undefined): void {
    if (head?.metadata !== undefined) this.receiver.receiveMetadata(head.metadata, undefined);
    super.onMetadata(head);
  }

  protected override onTrailers(head: Head | undefined): void {
    if (head?.trailers !== undefined) this.receiver.receiveMetadata(undefined, head.trailers);
    super.onTrailers(head);
  }

  protected conclude(error: RpcError | undefined): void {
    this.receiver.end(error);
    this.receiver.releaseAll();
    this.onOver?.(error);
    this.onOver = undefined;
  }
}
