import { codeFromNumber } from "../../codes.js";
import { ProtocolError, RpcError } from "../../errors.js";
import type { ClientLimits } from "../../client-limits.js";
import type { Channel } from "../../transport/channel.js";
import { Cursor } from "../../wire/cursor.js";
import type { Frame } from "../../wire/frame.js";
import type { AnswerCarrier, IncomingCall, LaneCallee, RequestHandler } from "../carrier.js";
import type { ReceiveFlow } from "../items/flow.js";
import { LaneReceiveFlow } from "../items/lane-flow.js";
import { oversized } from "../oversized.js";
import type { SessionFormat } from "../messages/session-format.js";
import * as FrameType from "../../wire/frame-type.js";

/** The peer's calls on one lane, on the serving side. */
export class ServedLane implements LaneCallee, AnswerCarrier {
  readonly single = false;
  readonly channel: Channel;
  peerFormat: SessionFormat | undefined = undefined;
  private readonly calls: (IncomingCall | undefined)[] = [];
  private readonly requests: RequestHandler;
  private readonly limits: ClientLimits;
  private over = false;

  constructor(channel: Channel, requests: RequestHandler) {
    this.channel = channel;
    this.requests = requests;
    this.limits = channel.limits;
  }

  receiveFlow(id: number): ReceiveFlow {
    return new LaneReceiveFlow(this, id);
  }

  onHello(codec: string): void {
    this.peerFormat = this.requests.formats.find(codec);
  }

  readIn(): void {
    throw new RpcError("invalid_argument", "a request on a lane names a codec: the lane's hello does");
  }

  enter(id: number, call: IncomingCall): void {
    if (this.over) call.onCancel("cancelled", true, true);
    else this.calls[id >>> 1] = call;
  }

  stopItems(): void {}

  leave(id: number): void {
    const index = id >>> 1;
    if (index < this.calls.length) this.calls[index] = undefined;
  }

  onFrame(frame: Frame): void {
    if (frame.oversized) {
      this.onOversized(frame);
      return;
    }
    switch (frame.type) {
      case FrameType.Request:
        this.requireFree(frame.callId);
        this.requests.onRequest(this, frame);
        return;
      case FrameType.Notify:
        this.requests.onNotify(this, frame);
        return;
      case FrameType.Cancel: {
        const code = codeFromNumber(new Cursor(frame.bytes, frame.start, frame.end).byte());
        this.calls[frame.callId >>> 1]?.onCancel(code, false, false);
        return;
      }
      case FrameType.Credit:
        this.calls[frame.callId >>> 1]?.onCredit(new Cursor(frame.bytes, frame.start, frame.end).varint());
        return;
      // Items that crossed the call's last frame are dropped, like late cancels and credit.
      case FrameType.Item:
        this.calls[frame.callId >>> 1]?.onItem(frame);
        return;
      case FrameType.End:
        this.calls[frame.callId >>> 1]?.onItemsEnd();
        return;
      default:
        throw new ProtocolError(`frame type ${frame.type} is not for the called side`);
    }
  }

  end(): void {
    this.over = true;
    for (const call of this.calls.splice(0)) call?.onCancel("cancelled", true, true);
  }

  /** Fails the call to which the frame belongs, and no other. */
  private onOversized(frame: Frame): void {
    const { type, callId } = frame;
    const error = oversized(frame, this.limits);
    if (type === FrameType.Request) this.requireFree(callId);
    if (type === FrameType.Item) this.calls[callId >>> 1]?.onBadItem(error);
    else if (type === FrameType.Request || type === FrameType.Notify) this.requests.onOversized(this, frame, error);
    else throw new ProtocolError(`a frame of type ${type} has ${frame.size} bytes`);
  }

  private requireFree(callId: number): void {
    const index = callId >>> 1;
    if (index >= this.limits.maxCallsPerLane) throw new ProtocolError(`call id ${callId} is beyond maxCallsPerLane`);
    if (index < this.calls.length && this.calls[index] !== undefined)
      throw new ProtocolError(`call ${callId} is still in progress`);
  }
}
