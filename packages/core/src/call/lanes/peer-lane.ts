import * as CredentialsKind from "../../wire/credentials-kind.js";
import * as FrameType from "../../wire/frame-type.js";
import * as GoawayStage from "../../wire/goaway-stage.js";
import { codeNumber } from "../../codes.js";
import { ProtocolError, RpcError, untracedError } from "../../errors.js";
import type { Channel, FrameHandler } from "../../transport/channel.js";
import { gatherFrames } from "../../transport/gathering.js";
import { lostCall, describeReset } from "../../transport/close-codes.js";
import { Cursor } from "../../wire/cursor.js";
import { type Frame, FLAG_HEAD } from "../../wire/frame.js";
import { type Hello, readHello, writeHello } from "../../wire/hello.js";
import { readGoaway, readPing } from "../../wire/session-frames.js";
import type { FrameWriter } from "../../wire/writer.js";
import type { CallPlaces } from "../call-places.js";
import type { Callee, CarrierSettings, LaneCallee } from "../carrier.js";
import type { SessionFormat } from "../messages/session-format.js";
import { Drain } from "./drain.js";
import { type SentFault, writeFault } from "../../wire/sent-fault.js";

/** Largest call id: a larger one would not fit a small integer of V8. */
const MAX_CALL_ID = 0x7fff_ffff;

/** The session of a lane, with the handlers of frames that concern the whole session. */
export interface LaneHost {
  readonly callee: Callee;
  readonly settings: CarrierSettings;
  /** Undefined until either side starts to drain. */
  drainage: Drain | undefined;
  /** Calls of this side that are not over, and streams whose bytes the peer may not have. */
  callsMade(): number;
  goaway(stage: number): void;
  /** Called when either side has started to drain. */
  onDraining(): void;
  /** Called when everything is over on both sides. */
  onDrained(): void;
  /** Called when the last call made on the lane is over. */
  onIdle(): void;
  /** Number of further calls that the peer accepts; undefined if no calls wait for a place. */
  readonly places?: CallPlaces | undefined;
  onHello?(lane: PeerLane, hello: Hello): void;
  /** Called when the peer announces on `lane` that it is leaving. `stage` is a `GoawayStage`, and the frame contains its fields. */
  onGoaway(stage: number, lane: PeerLane, frame: Frame): void;
  /** Absent if this side sends no pings: pongs are then ignored. */
  onPong?(token: number): void;
  /** Renews credentials; absent or undefined if this side renews none. */
  readonly renewal?: { onFrame(frame: Frame): void } | undefined;
  /** Receives a close frame; absent if a session ends in another way. */
  onClose?(frame: Frame): void;
}

/** A lane on which only the peer calls, as far as this side knows; `Lane` adds the calls of this side. */
export class PeerLane implements FrameHandler {
  readonly channel: Channel;
  readonly format: SessionFormat | undefined;
  protected readonly ourBit: 0 | 1;
  protected readonly host: LaneHost;
  protected over = false;
  private readonly callee: LaneCallee;
  private readonly onOver: (lane: PeerLane, error: RpcError) => void;
  private greeted = false;

  /**
   * @param ourBit of the ids of our calls: 0 on the side that opened the stream, 1 on the other
   * @param channel made here, as it tells the lane of its frames
   * @param onOver called when the lane has ended, with the error of its calls
   */
  constructor(
    ourBit: 0 | 1,
    channel: (lane: FrameHandler) => Channel,
    host: LaneHost,
    onOver: (lane: PeerLane, error: RpcError) => void,
  ) {
    this.ourBit = ourBit;
    this.host = host;
    this.onOver = onOver;
    this.format = host.settings.format;
    this.channel = channel(this);
    gatherFrames(this.channel);
    this.callee = host.callee.onLane?.(this.channel) ?? new UnservedLane(this.channel);
    this.greet();
  }

  /** @param write appends the fields of the stage */
  goaway(stage: number, write?: (out: FrameWriter) => void): void {
    this.send(FrameType.Goaway, (out) => {
      out.varint(stage);
      write?.(out);
    });
  }

  /** Whether it has ended. */
  get ended(): boolean {
    return this.over;
  }

  sendCredentials(write: (out: FrameWriter) => void): void {
    this.send(FrameType.Credentials, write);
  }

  onFrame(frame: Frame): void {
    if (this.over && !this.isAwaited(frame)) return;
    if (frame.callId > MAX_CALL_ID) throw new ProtocolError(`call id ${frame.callId} is beyond any limit`);
    const { type } = frame;
    // If the session is refused, a close comes instead of hello. A challenge may precede it.
    if (!this.greeted && type !== FrameType.Close && type !== FrameType.Credentials) this.onHello(frame);
    else if (type >= FrameType.Goaway && type !== FrameType.HalfEnd && !frame.oversized) this.onSessionFrame(frame);
    else if ((frame.callId & 1) === this.ourBit) this.onFrameOfOurs(frame);
    else this.callee.onFrame(frame);
  }

  onEnd(): void {
    this.end(untracedError("unavailable", "the peer ended the lane"));
    this.channel.reset(codeNumber("cancelled"));
  }

  onReset(code: number): void {
    const { code: status, message, refused } = describeReset(code);
    this.end(untracedError(status === "cancelled" ? "unavailable" : status, message, { refused }));
    this.channel.reset(code);
  }

  onStopSending(code: number): void {
    this.onReset(code);
  }

  onFailed(error: ProtocolError): void {
    this.end(new RpcError("internal", `protocol error: ${error.message}`, { cause: error }));
  }

  onClosed(error: Error | undefined): void {
    this.end(lostCall(error));
  }

  /** Sends a small frame: now, or after the frame that is being encoded. */
  protected send(type: number, write: (out: FrameWriter) => void, id: number = 0): void {
    this.channel.whenIdle(() => {
      if (this.over && type !== FrameType.Pong) return;
      this.channel.frame(type, id, write);
    });
  }

  /** Handles a frame of a call that this side has made. */
  protected onFrameOfOurs({ callId }: Frame): void {
    throw notInProgress(callId);
  }

  protected onPong(token: number): void {
    this.host.onPong?.(token);
  }

  /** Returns true if a frame still matters although the lane has ended. */
  protected isAwaited(_frame: Frame): boolean {
    return false;
  }

  /** Called when the lane has ended, and with it all its calls. */
  protected end(error: RpcError): void {
    if (this.over) return;
    this.over = true;
    this.onOver(this, error);
    this.callee.end();
  }

  private greet(): void {
    const { compression } = this.channel;
    const { settings } = this.host;
    const { greeting } = settings;
    settings.greeting = undefined;
    const hello = {
      codec: this.format?.name,
      compressions: Uint8Array.from(compression?.numbers ?? []),
      greeting,
      calls: this.host.callee.maxCalls,
    };
    this.channel.frame(FrameType.Hello, 0, (out) => writeHello(out, hello));
  }

  private onHello(frame: Frame): void {
    const hello = readHello(frame);
    const { codec, compressions } = hello;
    this.channel.compression?.onPeer(compressions);
    if (codec !== undefined) this.callee.onHello(codec);
    this.greeted = true;
    this.host.onHello?.(this, hello);
  }

  private onGoaway(stage: number, frame: Frame): void {
    this.host.onGoaway(stage, this, frame);
    if (stage === GoawayStage.Refusing || stage === GoawayStage.Finished) Drain.of(this.host).onGoaway(stage);
  }

  private onSessionFrame(frame: Frame): void {
    const { type, callId, bytes, start, end } = frame;
    if (callId !== 0) throw new ProtocolError(`a frame of type ${type} belongs to no call`);
    if (type === FrameType.Goaway) {
      this.onGoaway(readGoaway(frame), frame);
    } else if (type === FrameType.Ping) {
      const answer = readPing(frame).slice();
      this.send(FrameType.Pong, (out) => out.bytes(answer));
    } else if (type === FrameType.Pong) {
      this.onPong(new Cursor(bytes, start, end).varint());
    } else if (type === FrameType.Credentials) {
      const { renewal } = this.host;
      if (renewal !== undefined) renewal.onFrame(frame);
      // Proofs are read before there is a session, and a client without a key ignores a challenge.
      else if (bytes[start] !== CredentialsKind.OfProof)
        throw new ProtocolError("credentials are not renewed in this session");
    } else if (type === FrameType.Close) {
      if (this.host.onClose === undefined) throw new ProtocolError("a close frame on one of several streams");
      this.host.onClose(frame);
    } else {
      throw new ProtocolError(`frame type ${type} is unknown`);
    }
  }
}

export function notInProgress(callId: number): ProtocolError {
  return new ProtocolError(`a frame for call ${callId}, which is not in progress`);
}

const REFUSAL: SentFault = {
  code: "unimplemented",
  message: "nothing is served here",
  head: { refused: true },
  details: undefined,
};

/** The callee of a lane on which nothing is served: it refuses calls and drops notifications. */
class UnservedLane implements LaneCallee {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  onHello(): void {}

  onFrame({ type, callId }: Frame): void {
    switch (type) {
      case FrameType.Request:
        this.#refuse(callId);
        return;
      // Frames sent before the refusal arrived are dropped, and so are notifications.
      case FrameType.Notify:
      case FrameType.Item:
      case FrameType.End:
      case FrameType.Cancel:
      case FrameType.Credit:
        return;
      default:
        throw new ProtocolError(`frame type ${type} is not for the called side`);
    }
  }

  end(): void {}

  #refuse(callId: number): void {
    const channel = this.#channel;
    channel.whenIdle(() => {
      channel.frame(FrameType.Error | FLAG_HEAD, callId, (out) => writeFault(out, REFUSAL, channel.limits));
    });
  }
}
