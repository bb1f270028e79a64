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
  FrameType,
  type ItemFlow,
  OutgoingItems,
  type ReceiveFlow,
  receiveFlowOf,
} from "@quicrpc/core/internal";
import type { Pipe } from "./durable-stream.js";
import { flushPieces, pieceCursor, type PieceFields, sendPiece } from "./pieces.js";

/**
 * The methods of a resumable call that its attempts use. An attempt is one of the RPCs that carry the call, each on one
 * session.
 */
export interface AttemptOwner {
  /** Called when an attempt has been created, before it waits for a session. */
  onCreated(pipe: AttemptCall): void;
  /** Called when an attempt has sent its request on the session `host`. */
  onAttempt(pipe: AttemptCall, host: CallingHost): void;
  /**
   * Called with each piece of the call's stream that an attempt receives. The cursor is only valid during the call.
   * Throws `ProtocolError` for a malformed piece.
   */
  onPiece(pipe: AttemptCall, cursor: Cursor): void;
  /**
   * Called when an attempt has ended. `started` is false if there was no session for the attempt. `endedByPeer` is true
   * if the callee ended it.
   */
  onAttemptOver(pipe: AttemptCall, error: RpcError | undefined, started: boolean, endedByPeer: boolean): void;
  /** Makes the call once without resumption, on a caller that does not support attempts. */
  plain(caller: Caller): void;
}

/**
 * One attempt of a resumable call: an RPC on one session that carries pieces of the call's byte stream in both
 * directions.
 */
export class AttemptCall extends Call implements Pipe {
  /** Undefined, because the application receives the output of the resumable call instead. */
  readonly answer = undefined as never;
  private readonly resumable: AttemptOwner;
  private receiving: ReceiveFlow | undefined = undefined;
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

  /** Ends this attempt, because another caller makes the resumable call itself. */
  override follow(): void {
    this.drop();
  }

  /** Ends the attempt without notifying the resumable call. */
  drop(): void {
    this.settle();
  }

  override onFrame(frame: Frame): void {
    switch (frame.type) {
      case FrameType.Item:
        this.onItem(frame);
        return;
      case FrameType.End:
        this.endedByPeer = true;
        this.end(undefined);
        return;
      case FrameType.Response:
      case FrameType.HalfEnd:
        this.cancel(
          new RpcError(
            "internal",
            "protocol error: the callee sent a response where a resumable call sends pieces of its stream",
          ),
        );
        return;
      default:
        super.onFrame(frame);
    }
  }

  private onItem(frame: Frame): void {
    this.receiving?.received(frame.size);
    this.receiving?.consumed(frame.size);
    try {
      this.resumable.onPiece(
        this,
        pieceCursor(frame, this.host.limits.maxMetadataBytes, this.carrier?.channel.compression),
      );
    } catch (error) {
      this.cancel(
        new RpcError(
          "internal",
          `protocol error: a piece of a resumable call cannot be read: ${asError(error).message}`,
          { cause: error },
        ),
      );
    }
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

/** Creates attempts. Their input is the resumable call, which receives the outcome. */
const attemptCalls: Calling<"duplex"> = {
  kind: "duplex",
  create: (method, _options, resumable) => new AttemptCall(method, resumable as AttemptOwner),
  /**
   * Makes the call without resumption on a session that does not support attempts, for example one with interceptors.
   */
  around(caller, _method, resumable) {
    (resumable as AttemptOwner).plain(caller as Caller);
    return undefined;
  },
};

const attemptMethods = new WeakMap<AnyMethod, AnyMethod>();

/**
 * Returns the method that attempts of calls of `method` use. It has the same ids on the wire, but streams pieces in
 * both directions.
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
