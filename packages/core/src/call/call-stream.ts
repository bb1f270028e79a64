import { type Code, codeFromNumber, codeNumber, ProtocolError, RpcError } from "../errors.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import { lostCall } from "../transport/close-codes.js";
import { describeReset } from "../transport/reset-codes.js";
import type { DirectStream } from "../transport/session.js";
import { type Frame, FrameType, StreamKind } from "../wire/frame.js";
import { oversized } from "./oversized.js";
import type { Carrier, CarrierSettings, IncomingCall, OutgoingCall, RequestHandler } from "./carrier.js";
import { receiveFault } from "./fault.js";
import type { FormatTable, SessionFormat } from "./session-format.js";

/** The code of a stream that is stopped although nothing is wrong. */
const NO_ERROR = 0;

/** One call of ours on its own stream. Cancelling it resets the stream. */
export class OutgoingCallStream implements Carrier, FrameHandler {
  readonly single = true;
  readonly notifyId = 0;
  readonly channel: Channel;
  readonly format: SessionFormat | undefined;
  readonly peerFormat = undefined;
  private call: OutgoingCall | undefined;
  private readonly maxMetadataBytes: number;
  private onEnded: (() => void) | undefined;

  /** @param onEnded called once: the peer has received what was sent, or never will */
  constructor(stream: DirectStream, settings: CarrierSettings, onEnded: () => void) {
    this.onEnded = onEnded;
    this.format = settings.format;
    this.maxMetadataBytes = settings.limits.maxMetadataBytes;
    this.channel = Channel.open(stream, StreamKind.Call, this, settings);
  }

  open(call: OutgoingCall): number {
    this.call = call;
    return 0;
  }

  readIn(): void {}

  withdraw(): void {
    this.cancel(0, "cancelled");
  }

  cancel(_id: number, code: Code): void {
    this.call = undefined;
    this.channel.reset(codeNumber(code));
    this.end();
  }

  enter(): void {}

  stopItems(): void {}

  leave(): void {}

  onFrame(frame: Frame): void {
    const { call } = this;
    if (call === undefined) throw new ProtocolError("a frame after the call's last");
    if (frame.callId !== 0) throw new ProtocolError("a frame on a call's own stream has a call id");
    if (frame.oversized) {
      const error = oversized(frame, this.channel.limits);
      this.settle(error);
      this.cancel(0, error.code);
      return;
    }
    switch (frame.type) {
      case FrameType.Response:
        this.call = undefined;
        call.onResponse(frame);
        this.channel.stopSending(NO_ERROR);
        return;
      case FrameType.Error: {
        const fault = receiveFault(this.channel, frame, this.maxMetadataBytes);
        this.call = undefined;
        call.onFault(fault);
        this.channel.stopSending(NO_ERROR);
        return;
      }
      case FrameType.Headers:
        call.onHeaders(frame);
        return;
      case FrameType.Item:
        call.onItem(frame);
        return;
      case FrameType.HalfEnd:
        call.onItemsEnd();
        return;
      case FrameType.End:
        this.call = undefined;
        call.onDone(frame);
        this.channel.stopSending(NO_ERROR);
        return;
      default:
        throw new ProtocolError(`frame type ${frame.type} is not for the caller`);
    }
  }

  onEnd(): void {
    // The usual end: an error is made only if it is needed, since its stack costs more than the call.
    if (this.call !== undefined) this.settle(new RpcError("internal", "the stream ended before the call did"));
    this.end();
  }

  onReset(code: number): void {
    const { code: status, message, refused } = describeReset(code);
    this.settle(new RpcError(status, message, { refused }));
    this.channel.reset(code);
    this.end();
  }

  onStopSending(): void {
    this.call?.onStopped();
  }

  onFailed(error: ProtocolError): void {
    this.settle(new RpcError("internal", `protocol error: ${error.message}`, { cause: error }));
    this.end();
  }

  onClosed(error: Error | undefined): void {
    this.settle(lostCall(error));
    this.end();
  }

  private end(): void {
    const { onEnded } = this;
    this.onEnded = undefined;
    onEnded?.();
  }

  private settle(error: RpcError): void {
    const { call } = this;
    this.call = undefined;
    call?.onError(error);
  }
}

/** One call of the peer's on its own stream. */
export class IncomingCallStream implements Carrier, FrameHandler {
  readonly single = true;
  readonly notifyId = 0;
  readonly channel: Channel;
  readonly format = undefined;
  peerFormat: SessionFormat | undefined;
  private readonly formats: FormatTable;
  private readonly requests: RequestHandler;
  private readonly onOver: () => void;
  private call: IncomingCall | undefined;
  private requested = false;
  private answered = false;
  /** The peer's side has ended: until then the stream counts as in use. */
  private finished = false;
  private over = false;

  constructor(channel: Channel, requests: RequestHandler, { formats }: CarrierSettings, onOver: () => void) {
    this.channel = channel;
    this.formats = formats;
    this.requests = requests;
    this.onOver = onOver;
  }

  open(): number {
    throw new RpcError("internal", "a call's own stream carries no other call");
  }

  readIn(codec: string): void {
    this.peerFormat = this.formats.find(codec);
  }

  withdraw(): void {}

  cancel(): void {}

  enter(_id: number, call: IncomingCall): void {
    if (this.over) call.onCancel("cancelled", true);
    else this.call = call;
  }

  stopItems(): void {
    if (this.finished) return;
    // The peer's FIN will not be seen any more.
    this.finished = true;
    this.channel.stream.stopSending(NO_ERROR);
  }

  leave(): void {
    this.call = undefined;
    this.answered = true;
    if (this.finished) this.end();
  }

  onFrame(frame: Frame): void {
    if (frame.callId !== 0) throw new ProtocolError("a frame on a call's own stream has a call id");
    if (this.requested) {
      this.onItemFrame(frame);
      return;
    }
    this.requested = true;
    if (frame.type === FrameType.Request) {
      if (frame.oversized) this.requests.onOversized(this, frame, oversized(frame, this.channel.limits));
      else this.requests.onRequest(this, frame);
    } else if (frame.type === FrameType.Notify) {
      if (frame.oversized) this.requests.onOversized(this, frame, oversized(frame, this.channel.limits));
      else this.requests.onNotify(this, frame);
      this.channel.finish();
      this.leave();
    } else {
      throw new ProtocolError(`a call begins with a request, not frame type ${frame.type}`);
    }
  }

  onEnd(): void {
    this.finished = true;
    if (!this.requested) this.channel.fail(new ProtocolError("the stream ended without a request"));
    else if (this.answered) this.end();
    else this.call?.onFinished();
  }

  onReset(code: number): void {
    this.giveUp(codeFromNumber(code));
    this.channel.reset(code);
  }

  onStopSending(code: number): void {
    this.onReset(code);
  }

  onFailed(): void {
    this.giveUp("internal");
  }

  onClosed(): void {
    this.giveUp("cancelled");
  }

  /** After the request come only items and their end. */
  private onItemFrame(frame: Frame): void {
    if (frame.type === FrameType.Item && frame.oversized) this.call?.onBadItem(oversized(frame, this.channel.limits));
    else if (frame.type === FrameType.Item) this.call?.onItem(frame);
    else if (frame.type === FrameType.End) this.call?.onItemsEnd();
    else throw new ProtocolError(`frame type ${frame.type} after a call's request`);
  }

  private giveUp(code: Code): void {
    const { call } = this;
    this.call = undefined;
    this.end();
    call?.onCancel(code, true);
  }

  private end(): void {
    if (this.over) return;
    this.over = true;
    this.onOver();
  }
}
