import { codeNumber, ProtocolError, RpcError } from "../errors.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import { lostCall } from "../transport/close-codes.js";
import { describeReset } from "../transport/reset-codes.js";
import type { CloseInfo, DirectStream } from "../transport/session.js";
import { Cursor } from "../wire/cursor.js";
import type { Frame } from "../wire/frame.js";
import { readHello, writeHello } from "../wire/hello.js";
import { readClose, readGoaway, readPing } from "../wire/session-frames.js";
import type { FrameWriter } from "../wire/writer.js";
import type { Callee, CarrierSettings, LaneCallee } from "./carrier.js";
import type { SessionFormat } from "./session-format.js";
import * as FrameType from "../wire/frame-type.js";
import * as StreamKind from "../wire/stream-kind.js";

/** Above it an index would not fit a small integer. */
const MAX_CALL_ID = 0x7fff_ffff;

/** Notifications after which the peer is asked whether it has received those before. */
const ASK_EVERY = 256;
/** The tokens of the lane's own pings: beyond those that a session counts up to. */
const ASK = 2 ** 29;
const LAST_ASK = ASK + 1;

/** The session of a lane, and what arrives on the lane that concerns all of it. */
export interface LaneHost {
  readonly callee: Callee;
  readonly settings: CarrierSettings;
  /** The last of the calls that were made on the lane is over. */
  onIdle(): void;
  onHello(): void;
  /** The peer goes away; the stage is a `GoawayStage`. */
  onGoaway(stage: number): void;
  onPong(token: number): void;
  /** Throws `ProtocolError` where a session ends in another way than by a frame. */
  onClose(info: CloseInfo): void;
}

/** A lane as far as it concerns the session, and the peer's calls; `Lane` adds those of this side. */
export abstract class SessionLane implements FrameHandler {
  readonly channel: Channel;
  readonly format: SessionFormat | undefined;
  protected readonly ourBit: 0 | 1;
  protected readonly host: LaneHost;
  protected over = false;
  private readonly callee: LaneCallee;
  private readonly onOver: (lane: SessionLane) => void;
  private onFinished: ((received: boolean) => void) | undefined;
  private greeted = false;
  /** Notifications sent on it, those that the peer is known to have, and those sent before the ping that is under way. */
  private notified = 0;
  private received = 0;
  private asked: number | undefined;

  /**
   * @param ourBit of the ids of our calls: 0 on the side that opened the stream, 1 on the other
   * @param channel made here, as it tells the lane of its frames
   * @param onOver told when the lane has ended
   */
  constructor(
    ourBit: 0 | 1,
    channel: (lane: FrameHandler) => Channel,
    host: LaneHost,
    onOver: (lane: SessionLane) => void,
  ) {
    this.ourBit = ourBit;
    this.host = host;
    this.onOver = onOver;
    this.format = host.settings.format;
    this.channel = channel(this);
    this.channel.coalesce();
    this.callee = host.callee.onLane(this.channel);
    this.sayHello();
  }

  /** What makes the channel of a lane on a stream that this side opened. */
  static on(stream: DirectStream, settings: CarrierSettings): (lane: FrameHandler) => Channel {
    return (lane) => Channel.open(stream, StreamKind.Lane, lane, settings);
  }

  /** Notifications sent on it that the peer is not known to have received. */
  get unacknowledged(): number {
    return this.notified - this.received;
  }

  onNotified(): void {
    this.notified++;
    if (this.asked !== undefined || this.unacknowledged < ASK_EVERY) return;
    this.asked = this.notified;
    this.ping(ASK);
  }

  /**
   * Ends the lane: calls in progress fail, and a ping asks whether the peer has received all that was sent. `onFinished` is called
   * when it has, or never will.
   */
  finish(onFinished: () => void): void {
    this.channel.whenIdle(() => {
      this.ping(LAST_ASK);
      this.channel.flushNow();
      this.onFinished = (received) => {
        if (received) this.received = this.notified;
        onFinished();
      };
      this.end(new RpcError("unavailable", "the session was closed"));
    });
  }

  goaway(stage: number): void {
    this.send(FrameType.Goaway, (out) => out.varint(stage));
  }

  ping(token: number): void {
    this.send(FrameType.Ping, (out) => out.varint(token));
  }

  onFrame(frame: Frame): void {
    if (this.over && (this.onFinished === undefined || !isLastWord(frame))) return;
    if (frame.callId > MAX_CALL_ID) throw new ProtocolError(`call id ${frame.callId} is beyond any limit`);
    // A close may come instead of hello: the session was refused.
    if (!this.greeted && frame.type !== FrameType.Close) this.hear(frame);
    else if (frame.type >= FrameType.Goaway && frame.type !== FrameType.HalfEnd && !frame.oversized)
      this.onSessionFrame(frame);
    else if ((frame.callId & 1) === this.ourBit) this.onFrameOfOurs(frame);
    else this.callee.onFrame(frame);
  }

  onEnd(): void {
    this.end(new RpcError("unavailable", "the peer ended the lane"));
    this.channel.reset(codeNumber("cancelled"));
    this.finished(false);
  }

  onReset(code: number): void {
    const { code: status, message, refused } = describeReset(code);
    this.end(new RpcError(status === "cancelled" ? "unavailable" : status, message, { refused }));
    this.channel.reset(code);
    this.finished(false);
  }

  onStopSending(code: number): void {
    this.onReset(code);
  }

  onFailed(error: ProtocolError): void {
    this.end(new RpcError("internal", `protocol error: ${error.message}`, { cause: error }));
    this.finished(false);
  }

  onClosed(error: Error | undefined): void {
    this.end(lostCall(error));
    this.finished(false);
  }

  /** Sends a small frame, now or after the one that is being encoded. */
  protected send(type: number, write: (out: FrameWriter) => void, id: number = 0): void {
    this.channel.whenIdle(() => {
      if (this.over && type !== FrameType.Pong) return;
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
    this.host.onHello();
  }

  private onSessionFrame(frame: Frame): void {
    if (frame.callId !== 0) throw new ProtocolError(`a frame of type ${frame.type} belongs to no call`);
    switch (frame.type) {
      case FrameType.Goaway:
        this.host.onGoaway(readGoaway(frame));
        return;
      case FrameType.Ping: {
        const bytes = readPing(frame).slice();
        this.send(FrameType.Pong, (out) => out.bytes(bytes));
        return;
      }
      case FrameType.Pong:
        this.onPong(new Cursor(frame.bytes, frame.start, frame.end).varint());
        return;
      case FrameType.Close:
        this.host.onClose(readClose(frame));
        return;
      default:
        throw new ProtocolError(`frame type ${frame.type} is unknown`);
    }
  }

  private onPong(token: number): void {
    if (token === LAST_ASK) {
      this.finished(true);
    } else if (token === ASK) {
      this.received = this.asked ?? this.received;
      this.asked = undefined;
    } else {
      this.host.onPong(token);
    }
  }

  private finished(received: boolean): void {
    const { onFinished } = this;
    this.onFinished = undefined;
    onFinished?.(received);
  }

  /** A frame of a call that this side has made. */
  protected abstract onFrameOfOurs(frame: Frame): void;

  /** The lane has ended: so have the calls that were made on it. */
  protected abstract failCalls(error: RpcError): void;

  private end(error: RpcError): void {
    if (this.over) return;
    this.over = true;
    this.onOver(this);
    this.failCalls(error);
    this.callee.end();
  }
}

/** Whether a frame still matters to a lane that waits for the peer to have received all. */
function isLastWord({ type }: Frame): boolean {
  return type === FrameType.Hello || type === FrameType.Ping || type === FrameType.Pong || type === FrameType.Close;
}
