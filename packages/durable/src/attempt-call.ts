import { type Caller, type CallOptions, RpcError } from "@quicrpc/core";
import { type AnyMethod, describeMethod } from "@quicrpc/core/generated";
import {
  asError,
  Call,
  type Calling,
  type CallingHost,
  type Carrier,
  type Cursor,
  type Fault,
  type Frame,
  type ItemFlow,
  OutgoingItems,
  type ReceiveFlow,
  receiveFlowOf,
} from "@quicrpc/core/internal";
import type { Pipe } from "./durable-stream.js";
import { flushPieces, pieceCursor, type PieceFields, sendPiece } from "./pieces.js";

/** A resumable call, as its attempts see it. */
export interface AttemptOwner {
  /** Called when the attempt was created, and before it waits for a session. */
  onCreated(pipe: AttemptCall): void;
  /** Called when the attempt was made on `host`, and its request was sent. */
  onAttempt(pipe: AttemptCall, host: CallingHost): void;
  /** Called with a piece of the call's stream; the cursor is valid during the call only. Throws `ProtocolError`. */
  onPiece(pipe: AttemptCall, cursor: Cursor): void;
  /** Called when the attempt is over. `started` is false if there was no session for it; `endedByPeer` is true if the callee ended it. */
  onAttemptOver(pipe: AttemptCall, error: RpcError | undefined, started: boolean, endedByPeer: boolean): void;
  /** Makes the call without resumption, by a caller that cannot make attempts. */
  plain(caller: Caller): void;
}

/** One attempt of a resumable call: carries pieces of its byte stream, both ways. */
export class AttemptCall extends Call implements Pipe {
  /** The program receives the answer of the resumable call. */
  readonly answer = undefined as never;
  private readonly resumable: AttemptOwner;
  private receiving: ReceiveFlow | undefined = undefined;
  /** Whether the callee has reported how the attempt ends. */
  private endedByPeer = false;
  private carriedOn: { readonly carrier: Carrier; readonly id: number } | undefined = undefined;

  constructor(method: AnyMethod, resumable: AttemptOwner) {
    super(method);
    this.resumable = resumable;
    resumable.onCreated(this);
  }

  get flow(): ItemFlow {
    return (this.items as OutgoingItems).flow;
  }

  get idle(): boolean {
    return this.carriedOn?.carrier.channel.out.idle !== false;
  }

  send(fields: PieceFields, bytes: Uint8Array): void {
    if (this.over || this.carriedOn === undefined) return;
    const { carrier, id } = this.carriedOn;
    (this.items as OutgoingItems).flow.spend(sendPiece(carrier.channel, id, fields, bytes));
  }

  flush(): void {
    if (this.carriedOn !== undefined) flushPieces(this.carriedOn.carrier);
  }

  override start(host: CallingHost, _input: unknown, options: CallOptions | undefined): void {
    super.start(host, undefined, options);
    if (!this.over) this.resumable.onAttempt(this, host);
  }

  /** Another caller has made the resumable call itself. */
  override follow(): void {
    this.drop();
  }

  /** Ends an attempt that is not needed, without notifying the resumable call. */
  drop(): void {
    this.settle();
  }

  onItem(frame: Frame): void {
    this.receiving?.received(frame.size);
    this.receiving?.consumed(frame.size);
    try {
      this.resumable.onPiece(
        this,
        pieceCursor(frame, this.host.limits.maxMetadataBytes, this.carrier?.channel.compression),
      );
    } catch (error) {
      this.giveUp(
        new RpcError(
          "internal",
          `protocol error: a piece of a resumable call cannot be read: ${asError(error).message}`,
          { cause: error },
        ),
      );
    }
  }

  onResponse(): void {
    this.giveUp(
      new RpcError(
        "internal",
        "protocol error: the callee sent a response where a resumable call sends pieces of its stream",
      ),
    );
  }

  onItemsEnd(): void {
    this.onResponse();
  }

  onDone(): void {
    this.endedByPeer = true;
    this.end(undefined);
  }

  override onFault(fault: Fault): void {
    this.endedByPeer = true;
    super.onFault(fault);
  }

  override onError(error: RpcError): void {
    this.end(error);
  }

  protected override onCarrier(carrier: Carrier, id: number): void {
    super.onCarrier(carrier, id);
    this.items = new OutgoingItems(this, carrier, id, this.host.limits, this.options?.compress);
    this.receiving = receiveFlowOf(carrier, id);
    this.carriedOn = { carrier, id };
  }

  protected conclude(error: RpcError | undefined): void {
    this.receiving?.end();
    this.resumable.onAttemptOver(this, error, this.host !== undefined, this.endedByPeer);
  }
}

/** Makes attempts. The input is the resumable call, which receives the outcome. */
const attemptCalls: Calling<"duplex"> = {
  kind: "duplex",
  create: (method, _options, resumable) => new AttemptCall(method, resumable as AttemptOwner),
  /** Called for a session that does not carry attempts itself, such as one with interceptors. */
  around(caller, _method, resumable) {
    (resumable as AttemptOwner).plain(caller as Caller);
    return undefined;
  },
};

const attemptMethods = new WeakMap<AnyMethod, AnyMethod>();

/**
 * Returns the method for attempts of calls of `method`: the same ids on the wire, with pieces streamed in both
 * directions.
 */
export function attemptMethod(method: AnyMethod): AnyMethod {
  let attempt = attemptMethods.get(method);
  if (attempt === undefined) {
    const { service, name, id, priority, via, meta } = method;
    const options = { id, ...(priority !== undefined && { priority }), ...(via && { via }), ...(meta && { meta }) };
    attempt = describeMethod(service, attemptCalls, name, options) as AnyMethod;
    attemptMethods.set(method, attempt);
  }
  return attempt;
}
