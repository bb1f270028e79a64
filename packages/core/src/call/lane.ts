import { type Code, codeFromNumber, codeNumber, ProtocolError, RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import { describeReset } from "../transport/reset-codes.js";
import type { DirectStream } from "../transport/session.js";
import { Cursor } from "../wire/cursor.js";
import { readFault } from "../wire/fault.js";
import { type Frame, FrameType, PROTOCOL_VERSION, RESERVED_FLAGS, StreamKind } from "../wire/frame.js";
import { CallTable } from "./call-table.js";
import type { Carrier, IncomingCall, OutgoingCall, RequestHandler } from "./carrier.js";

/** Takes the rest of a call that was given up: its last frame frees the id. */
const GIVEN_UP: OutgoingCall = { onResponse() {}, onItem() {}, onDone() {}, onError() {} };

/**
 * Many calls on one stream. Both sides may call: the lowest bit of a call id is 0 for calls of the side that opened
 * the stream, 1 for those of the other.
 */
export class Lane implements Carrier, FrameHandler {
  readonly single = false;
  readonly channel: Channel;
  readonly notifyId: number;
  private readonly ourBit: 0 | 1;
  private readonly outgoing: CallTable<OutgoingCall>;
  private readonly incoming: (IncomingCall | undefined)[] = [];
  private readonly requests: RequestHandler;
  private readonly maxCalls: number;
  private readonly onOver: (lane: Lane) => void;
  private greeted = false;
  private over = false;

  private constructor(
    ourBit: 0 | 1,
    channel: (lane: Lane) => Channel,
    requests: RequestHandler,
    limits: Limits,
    onOver: (lane: Lane) => void,
  ) {
    this.ourBit = ourBit;
    this.notifyId = ourBit;
    this.requests = requests;
    this.maxCalls = limits.maxCallsPerLane;
    this.outgoing = new CallTable(limits.maxCallsPerLane);
    this.onOver = onOver;
    this.channel = channel(this);
    this.sayHello();
  }

  static open(stream: DirectStream, requests: RequestHandler, limits: Limits, onOver: (lane: Lane) => void): Lane {
    const channel = (lane: Lane) => Channel.open(stream, StreamKind.Lane, true, lane, limits.maxFrameBytes);
    return new Lane(0, channel, requests, limits, onOver);
  }

  static accept(channel: Channel, requests: RequestHandler, limits: Limits, onOver: (lane: Lane) => void): Lane {
    channel.coalesce();
    return new Lane(1, () => channel, requests, limits, onOver);
  }

  /** Calls of this side that have not ended. */
  get callsInFlight(): number {
    return this.outgoing.size;
  }

  open(call: OutgoingCall): number {
    if (this.over) throw new RpcError("unavailable", "the lane has ended");
    const index = this.outgoing.add(call);
    if (index < 0) {
      throw new RpcError("resource_exhausted", `${this.maxCalls} calls are in flight on one lane (maxCallsPerLane)`);
    }
    return index * 2 + this.ourBit;
  }

  withdraw(id: number): void {
    this.outgoing.release(id >>> 1);
  }

  cancel(id: number, code: Code): void {
    if (this.over) return;
    this.outgoing.replace(id >>> 1, GIVEN_UP);
    const mark = this.channel.begin(FrameType.Cancel, id);
    this.channel.out.byte(codeNumber(code));
    this.channel.commit(mark);
  }

  enter(id: number, call: IncomingCall): void {
    this.incoming[id >>> 1] = call;
  }

  leave(id: number): void {
    const index = id >>> 1;
    if (index < this.incoming.length) this.incoming[index] = undefined;
  }

  onFrame(frame: Frame): void {
    if ((frame.flags & RESERVED_FLAGS) !== 0) throw new ProtocolError("a frame has flags without a meaning");
    if (!this.greeted) this.readHello(frame);
    else if ((frame.callId & 1) === this.ourBit) this.onFrameOfOurs(frame);
    else this.onFrameOfTheirs(frame);
  }

  onEnd(): void {
    this.end(new RpcError("unavailable", "the peer ended the lane"));
    this.channel.reset(codeNumber("cancelled"));
  }

  onReset(code: number): void {
    const { code: status, message } = describeReset(code);
    this.end(new RpcError(status === "cancelled" ? "unavailable" : status, message));
    this.channel.reset(code);
  }

  onStopSending(code: number): void {
    this.onReset(code);
  }

  onFailed(error: ProtocolError): void {
    this.end(new RpcError("internal", `protocol error: ${error.message}`, { cause: error }));
  }

  onClosed(error: Error | undefined): void {
    const message = error === undefined ? "the session was closed" : `the session was lost: ${error.message}`;
    this.end(new RpcError("unavailable", message, { cause: error }));
  }

  private sayHello(): void {
    const mark = this.channel.begin(FrameType.Hello, 0);
    this.channel.out.varint(PROTOCOL_VERSION);
    this.channel.commit(mark);
  }

  private readHello(frame: Frame): void {
    if (frame.type !== FrameType.Hello) throw new ProtocolError("a lane begins with hello");
    const version = new Cursor(frame.bytes, frame.start, frame.end).varint();
    if (version !== PROTOCOL_VERSION) {
      throw new ProtocolError(`the peer speaks version ${version} of the protocol, this side ${PROTOCOL_VERSION}`);
    }
    this.greeted = true;
  }

  private onFrameOfOurs(frame: Frame): void {
    const index = frame.callId >>> 1;
    const call = this.outgoing.get(index);
    if (call === undefined) throw new ProtocolError(`a frame for call ${frame.callId}, which is not in progress`);
    switch (frame.type) {
      case FrameType.Response:
        this.outgoing.release(index);
        call.onResponse(frame);
        return;
      case FrameType.Error:
        this.endWithFault(index, call, frame);
        return;
      case FrameType.Item:
        call.onItem(frame);
        return;
      case FrameType.End:
        this.outgoing.release(index);
        call.onDone();
        return;
      default:
        throw new ProtocolError(`frame type ${frame.type} is not for the caller`);
    }
  }

  /** A frame that cannot be read must leave the call in the table, to fail with the lane. */
  private endWithFault(index: number, call: OutgoingCall, frame: Frame): void {
    const error = readFault(frame);
    this.outgoing.release(index);
    call.onError(error);
  }

  private onFrameOfTheirs(frame: Frame): void {
    switch (frame.type) {
      case FrameType.Request: {
        const index = frame.callId >>> 1;
        if (index >= this.maxCalls) throw new ProtocolError(`call id ${frame.callId} is beyond maxCallsPerLane`);
        if (this.incoming[index] !== undefined) throw new ProtocolError(`call ${frame.callId} is still in progress`);
        this.requests.onRequest(this, frame);
        return;
      }
      case FrameType.Notify:
        this.requests.onNotify(this, frame);
        return;
      case FrameType.Cancel: {
        const code = codeFromNumber(new Cursor(frame.bytes, frame.start, frame.end).byte());
        this.incoming[frame.callId >>> 1]?.onCancel(code, false);
        return;
      }
      case FrameType.Credit: {
        const bytes = new Cursor(frame.bytes, frame.start, frame.end).varint();
        this.incoming[frame.callId >>> 1]?.onCredit(bytes);
        return;
      }
      default:
        throw new ProtocolError(`frame type ${frame.type} is not for the called side`);
    }
  }

  private end(error: RpcError): void {
    if (this.over) return;
    this.over = true;
    this.onOver(this);
    for (const call of this.outgoing.drain()) call.onError(error);
    const calls = this.incoming.splice(0);
    for (const call of calls) call?.onCancel("cancelled", true);
  }
}
