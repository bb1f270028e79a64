import { codeFromNumber } from "../codes.js";
import { type Code, ProtocolError } from "../errors.js";
import type { Channel, FrameHandler } from "../transport/channel.js";
import type { Frame } from "../wire/frame.js";
import type { AnswerCarrier, IncomingCall, RequestHandler } from "./carrier.js";
import { oversized } from "./messages/payload.js";
import type { SessionFormat } from "./messages/session-format.js";
import * as FrameType from "../wire/frame-type.js";

/** Code of STOP_SENDING (RFC 9000 §19.5) if no error has occurred. */
const NO_ERROR = 0;

/** A call that the peer makes on a stream of its own, not on a shared lane. */
export class IncomingCallStream implements AnswerCarrier, FrameHandler {
  readonly single = true;
  readonly channel: Channel;
  peerFormat: SessionFormat | undefined = undefined;
  private readonly requests: RequestHandler;
  private readonly onOver: () => void;
  private call: IncomingCall | undefined = undefined;
  private requested = false;
  private answered = false;
  /** Whether the peer has ended its direction of the stream. Until then the stream counts as in use. */
  private finished = false;
  private over = false;

  constructor(channel: Channel, requests: RequestHandler, onOver: () => void) {
    this.channel = channel;
    this.requests = requests;
    this.onOver = onOver;
  }

  readIn(codec: string): void {
    this.peerFormat = this.requests.formats.find(codec);
  }

  enter(_id: number, call: IncomingCall): void {
    if (this.over) call.onCancel("cancelled", true, true);
    else this.call = call;
  }

  stopItems(): void {
    if (this.finished) return;
    // After this request the peer's FIN no longer arrives.
    this.finished = true;
    this.channel.refuseMore(NO_ERROR);
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
    this.cancelCall(codeFromNumber(code));
    this.channel.reset(code);
  }

  onStopSending(code: number): void {
    this.onReset(code);
  }

  onFailed(): void {
    this.cancelCall("internal");
  }

  onClosed(): void {
    this.cancelCall("cancelled", true);
  }

  private onItemFrame(frame: Frame): void {
    if (frame.type === FrameType.Item && frame.oversized) this.call?.onBadItem(oversized(frame, this.channel.limits));
    else if (frame.type === FrameType.Item) this.call?.onItem(frame);
    else if (frame.type === FrameType.End) this.call?.onItemsEnd();
    else throw new ProtocolError(`frame type ${frame.type} after a call's request`);
  }

  private cancelCall(code: Code, withSession = false): void {
    const { call } = this;
    this.call = undefined;
    this.end();
    call?.onCancel(code, true, withSession);
  }

  private end(): void {
    if (this.over) return;
    this.over = true;
    this.onOver();
  }
}
