import { type Code, codeNumber, ProtocolError, RpcError } from "../errors.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import { lostCall } from "../transport/close-codes.js";
import { describeReset } from "../transport/reset-codes.js";
import type { CloseInfo, DirectStream } from "../transport/session.js";
import { Cursor } from "../wire/cursor.js";
import { type Frame, FrameType, StreamKind } from "../wire/frame.js";
import { readHello, writeHello } from "../wire/hello.js";
import { readClose, readGoaway, readPing } from "../wire/session-frames.js";
import type { FrameWriter } from "../wire/writer.js";
import { CallTable } from "./call-table.js";
import { oversized } from "./oversized.js";
import type { Callee, Carrier, CarrierSettings, LaneCallee, OutgoingCall } from "./carrier.js";
import { receiveFault } from "./fault.js";
import type { SessionFormat } from "./session-format.js";

/** Above it an index would not fit a small integer. */
const MAX_CALL_ID = 0x7fff_ffff;

/** Takes the rest of a call that was given up: its last frame frees the id. */
const GIVEN_UP: OutgoingCall = {
  onHeaders() {},
  onResponse() {},
  onItem() {},
  onItemsEnd() {},
  onDone() {},
  onFault() {},
  onError() {},
  onCredit() {},
  onStopped() {},
};

/** What a lane tells its session: its own end, and what arrives on it that concerns the whole session. */
export interface LaneOwner {
  onOver(lane: Lane): void;
  /** The last of the calls that were made on it is over. */
  onIdle(): void;
  onHello(): void;
  /** The peer goes away; the stage is a `GoawayStage`. */
  onGoaway(stage: number): void;
  onPong(token: number): void;
  /** Throws `ProtocolError` where a session ends in another way than by a frame. */
  onClose(info: CloseInfo): void;
}

/**
 * Many calls on one stream. Both sides may call: the lowest bit of a call id is 0 for calls of the side that opened
 * the stream, 1 for those of the other.
 */
export class Lane implements Carrier, FrameHandler {
  readonly single = false;
  readonly channel: Channel;
  readonly notifyId: number;
  readonly format: SessionFormat | undefined;
  private readonly ourBit: 0 | 1;
  private readonly outgoing: CallTable<OutgoingCall>;
  private readonly callee: LaneCallee;
  private readonly maxCalls: number;
  private readonly maxMetadataBytes: number;
  private readonly owner: LaneOwner;
  private onFinished: (() => void) | undefined;
  private givenUp = 0;
  private greeted = false;
  private over = false;

  /** @param ourBit 0 on the side that opened the stream, 1 on the other */
  constructor(
    ourBit: 0 | 1,
    channel: (lane: Lane) => Channel,
    callee: Callee,
    { limits, format }: CarrierSettings,
    owner: LaneOwner,
  ) {
    this.ourBit = ourBit;
    this.notifyId = ourBit;
    this.maxCalls = limits.maxCallsPerLane;
    this.maxMetadataBytes = limits.maxMetadataBytes;
    this.outgoing = new CallTable(limits.maxCallsPerLane);
    this.owner = owner;
    this.format = format;
    this.channel = channel(this);
    this.channel.coalesce();
    this.callee = callee.onLane(this.channel);
    this.sayHello();
  }

  static open(stream: DirectStream, callee: Callee, settings: CarrierSettings, owner: LaneOwner): Lane {
    const channel = (lane: Lane) => Channel.open(stream, StreamKind.Lane, lane, settings);
    return new Lane(0, channel, callee, settings, owner);
  }

  static accept(channel: Channel, callee: Callee, settings: CarrierSettings, owner: LaneOwner): Lane {
    return new Lane(1, () => channel, callee, settings, owner);
  }

  /** Calls made on it that are not over. */
  get callsMade(): number {
    return this.outgoing.size;
  }

  /** Whether no more calls should be opened: it has ended, or calls that were given up hold all its ids. */
  get spent(): boolean {
    return this.over || (this.givenUp > 0 && this.outgoing.size >= this.maxCalls);
  }

  open(call: OutgoingCall): number {
    if (this.over) throw new RpcError("unavailable", "the lane has ended", { refused: true });
    const index = this.outgoing.add(call);
    if (index < 0) {
      throw new RpcError("resource_exhausted", `${this.maxCalls} calls are in flight on one lane (maxCallsPerLane)`);
    }
    return index * 2 + this.ourBit;
  }

  /**
   * Ends the lane with FIN: calls in progress fail, and `onFinished` is called when the peer has received all that was
   * sent, or never will.
   */
  finish(onFinished: () => void): void {
    this.onFinished = onFinished;
    this.end(new RpcError("unavailable", "the session was closed"));
    this.channel.finish();
  }

  goaway(stage: number): void {
    this.send(FrameType.Goaway, (out) => out.varint(stage));
  }

  ping(token: number): void {
    this.send(FrameType.Ping, (out) => out.varint(token));
  }

  withdraw(id: number): void {
    const call = this.outgoing.get(id >>> 1);
    if (call !== undefined) this.release(id >>> 1, call);
  }

  cancel(id: number, code: Code): void {
    const call = this.outgoing.get(id >>> 1);
    if (this.over || call === undefined || call === GIVEN_UP) return;
    this.outgoing.replace(id >>> 1, GIVEN_UP);
    this.givenUp++;
    this.send(FrameType.Cancel, (out) => out.byte(codeNumber(code)), id);
  }

  onFrame(frame: Frame): void {
    if (this.over) return;
    if (frame.callId > MAX_CALL_ID) throw new ProtocolError(`call id ${frame.callId} is beyond any limit`);
    // A close may come instead of hello: the session was refused.
    if (!this.greeted && frame.type !== FrameType.Close) this.hear(frame);
    else if (frame.oversized) this.onOversized(frame);
    else if (frame.type >= FrameType.Goaway && frame.type !== FrameType.HalfEnd) this.onSessionFrame(frame);
    else if ((frame.callId & 1) === this.ourBit) this.onFrameOfOurs(frame);
    else this.callee.onFrame(frame);
  }

  onEnd(): void {
    this.end(new RpcError("unavailable", "the peer ended the lane"));
    this.channel.reset(codeNumber("cancelled"));
    this.onFinished?.();
  }

  onReset(code: number): void {
    const { code: status, message, refused } = describeReset(code);
    this.end(new RpcError(status === "cancelled" ? "unavailable" : status, message, { refused }));
    this.channel.reset(code);
    this.onFinished?.();
  }

  onStopSending(code: number): void {
    this.onReset(code);
  }

  onFailed(error: ProtocolError): void {
    this.end(new RpcError("internal", `protocol error: ${error.message}`, { cause: error }));
    this.onFinished?.();
  }

  onClosed(error: Error | undefined): void {
    this.end(lostCall(error));
    this.onFinished?.();
  }

  /** Sends a small frame, now or after the one that is being encoded. */
  private send(type: number, write: (out: FrameWriter) => void, id: number = 0): void {
    this.channel.whenIdle(() => {
      if (this.over) return;
      const mark = this.channel.begin(type, id);
      write(this.channel.out);
      this.channel.commit(mark);
    });
  }

  private sayHello(): void {
    const { compression } = this.channel;
    const mark = this.channel.begin(FrameType.Hello, 0);
    writeHello(this.channel.out, {
      codec: this.format?.name,
      compressions: Uint8Array.from(compression?.numbers ?? []),
    });
    this.channel.commit(mark);
  }

  private hear(frame: Frame): void {
    const { codec, compressions } = readHello(frame);
    this.channel.compression?.onPeer(compressions);
    if (codec !== undefined) this.callee.onHello(codec);
    this.greeted = true;
    this.owner.onHello();
  }

  /** It costs the call that it belongs to, and no other. */
  private onOversized(frame: Frame): void {
    const { callId, type } = frame;
    if ((callId & 1) !== this.ourBit) {
      this.callee.onFrame(frame);
      return;
    }
    const index = callId >>> 1;
    const call = this.outgoing.get(index);
    if (call === undefined) throw new ProtocolError(`a frame for call ${callId}, which is not in progress`);
    const error = oversized(frame, this.channel.limits);
    call.onError(error);
    if (type === FrameType.Item || type === FrameType.Headers) this.cancel(callId, error.code);
    else this.release(index, call);
  }

  private onSessionFrame(frame: Frame): void {
    if (frame.callId !== 0) throw new ProtocolError(`a frame of type ${frame.type} belongs to no call`);
    switch (frame.type) {
      case FrameType.Goaway:
        this.owner.onGoaway(readGoaway(frame));
        return;
      case FrameType.Ping: {
        const bytes = readPing(frame).slice();
        this.send(FrameType.Pong, (out) => out.bytes(bytes));
        return;
      }
      case FrameType.Pong:
        this.owner.onPong(new Cursor(frame.bytes, frame.start, frame.end).varint());
        return;
      case FrameType.Close:
        this.owner.onClose(readClose(frame));
        return;
      default:
        throw new ProtocolError(`frame type ${frame.type} is unknown`);
    }
  }

  private onFrameOfOurs(frame: Frame): void {
    const index = frame.callId >>> 1;
    const call = this.outgoing.get(index);
    if (frame.type === FrameType.Credit) {
      call?.onCredit(new Cursor(frame.bytes, frame.start, frame.end).varint());
      return;
    }
    if (call === undefined) throw new ProtocolError(`a frame for call ${frame.callId}, which is not in progress`);
    switch (frame.type) {
      case FrameType.Response:
        this.release(index, call);
        call.onResponse(frame);
        return;
      case FrameType.Error:
        this.endWithFault(index, call, frame);
        return;
      case FrameType.Item:
        call.onItem(frame);
        return;
      case FrameType.HalfEnd:
        call.onItemsEnd();
        return;
      case FrameType.End:
        this.release(index, call);
        call.onDone(frame);
        return;
      case FrameType.Headers:
        call.onHeaders(frame);
        return;
      default:
        throw new ProtocolError(`frame type ${frame.type} is not for the caller`);
    }
  }

  /** A frame that cannot be read must leave the call in the table, to fail with the lane. */
  private endWithFault(index: number, call: OutgoingCall, frame: Frame): void {
    const fault = receiveFault(this.channel, frame, this.maxMetadataBytes);
    this.release(index, call);
    call.onFault(fault);
  }

  private release(index: number, call: OutgoingCall): void {
    this.outgoing.release(index);
    if (call === GIVEN_UP) this.givenUp--;
    if (this.outgoing.size === 0) this.owner.onIdle();
  }

  private end(error: RpcError): void {
    if (this.over) return;
    this.over = true;
    this.owner.onOver(this);
    for (const call of this.outgoing.drain()) call.onError(error);
    this.callee.end();
  }
}
