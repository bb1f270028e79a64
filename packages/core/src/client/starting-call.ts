import type { DuplexStream } from "../call/caller.js";
import type { Carrier } from "../call/carrier.js";
import type { ItemStream, NewItemQueue } from "../call/item-stream.js";
import type { CallOptions } from "../call/options.js";
import type { ItemTarget } from "../call/send-items.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { InputCode, NewCall, SendingCall } from "./calling.js";
import { AnsweredCall, type Call, type CallHost, StreamedCall } from "./calls.js";
import { failureOf } from "./failure.js";
import { type Invocation, invokeNotify, startCall } from "./invoke.js";
import type { OutgoingItems } from "./outgoing-items.js";

/** A call of a session with carriers: lanes, or streams of single calls. */
export class StartingCall implements Invocation, NewCall {
  readonly pick: () => Carrier;
  readonly method: AnyMethod;
  readonly options: CallOptions | undefined;
  readonly host: CallHost;

  constructor(pick: () => Carrier, method: AnyMethod, options: CallOptions | undefined, host: CallHost) {
    this.pick = pick;
    this.method = method;
    this.options = options;
    this.host = host;
  }

  failure(error: RpcError): RpcError {
    return failureOf(error, this.method, this.host.peer);
  }

  notify(input: unknown): void {
    invokeNotify(this, input);
  }

  answered(
    input: unknown,
    resolve: (answer: unknown) => void,
    code?: InputCode,
    onFailed?: () => void,
  ): ItemTarget | undefined {
    const call = new AnsweredCall(this, resolve, onFailed);
    startCall(call, this, input, code && this.itemsOf(call, code));
    return call.items;
  }

  streamed(input: unknown, newQueue: NewItemQueue): ItemStream<unknown> {
    const call = new StreamedCall(this, newQueue);
    startCall(call, this, input);
    return call.stream;
  }

  duplex(
    newQueue: NewItemQueue,
    code: InputCode,
    writableOf: (call: SendingCall) => WritableStream<unknown>,
  ): DuplexStream<unknown, unknown> {
    const call = new StreamedCall(this, newQueue);
    // Before the start, so that it hears of a call that cannot be started.
    const writable = writableOf(call);
    startCall(call, this, undefined, this.itemsOf(call, code));
    return { readable: call.stream, writable };
  }

  /** What the caller streams. */
  private itemsOf(call: Call, { Items }: InputCode): (carrier: Carrier, id: number) => OutgoingItems {
    return (carrier, id) =>
      new Items(carrier, id, this.method, this.host.limits, (error) => {
        call.giveUp(RpcError.from(error, "unknown"), "cancelled");
      });
  }
}
