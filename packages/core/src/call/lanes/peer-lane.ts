import * as CredentialsKind from "../../wire/credentials-kind.js";
import * as FrameType from "../../wire/frame-type.js";
import * as GoawayStage from "../../wire/goaway-stage.js";
import { codeNumber } from "../../codes.js";
import { ProtocolError, RpcError, untracedError } from "../../errors.js";
import type { Channel, FrameHandler } from "../../transport/channel.js";
import { gatherFrames } from "../../transport/gathering.js";
import { lostCall, describeReset } from "../../transport/close-codes.js";
import { cursorOf } from "../../wire/cursor.js";
import { type Frame, FLAG_HEAD } from "../../wire/frame.js";
import { type HelloFrame, readHello, writeHello } from "../../wire/hello.js";
import type { FrameWriter } from "../../wire/writer.js";
import type { CallPlaces } from "../call-places.js";
import type { Callee, CarrierSettings, LaneCallee } from "../carrier.js";
import type { SessionFormat } from "../messages/session-format.js";
import { Drain } from "./drain.js";
import { type SentFault, writeFault } from "../../wire/sent-fault.js";

/** Largest permitted call id. V8 stores larger numbers less efficiently. */
const MAX_CALL_ID = 0x7fff_ffff;

/** The session to which a lane belongs. It handles the frames that concern the whole session. */
export interface LaneHost {
  readonly callee: Callee;
  readonly settings: CarrierSettings;
  /** State of a graceful shutdown; undefined until either side starts one. */
  drainage: Drain | undefined;
  /**
   * Returns the number of this side's calls in progress, and of streams whose data the peer may not have received yet.
   */
  callsMade(): number;
  goaway(stage: number): void;
  onDraining(): void;
  /** Called when the calls of both sides are complete, so that the session can be closed. */
  onDrained(): void;
  /** Called when the last call that this side made on the lane has ended. */
  onIdle(): void;
  /** Limit of concurrent calls, for connections that queue further calls; otherwise undefined. */
  readonly places?: CallPlaces | undefined;
  onHello?(lane: PeerLane, hello: HelloFrame): void;
  /**
   * Called when the peer sends a goaway frame on `lane`. `stage` is a `GoawayStage`; `frame` contains further fields of
   * that stage.
   */
  onGoaway(stage: number, lane: PeerLane, frame: Frame): void;
  /** Handles the answer to a ping. Absent if this side sends no pings. */
  onPong?(token: number): void;
  /** Handles credentials frames. Absent or undefined if credentials are not renewed in this session. */
  readonly renewal?: { onFrame(frame: Frame): void } | undefined;
  /** Handles a close frame. Absent if the transport itself ends sessions, so that close frames are not allowed. */
  onClose?(frame: Frame): void;
}

/** A stream on which the peer makes calls. The subclass `Lane` adds calls of this side. */
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
   * @param ourBit lowest bit of this side's call ids: 0 if this side opened the stream, otherwise 1
   * @param channel creates the channel, which passes received frames to the lane
   * @param onOver called when the lane has ended, with the error for calls in progress
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

  /**
   * Sends a goaway frame.
   *
   * @param write appends further fields of this stage
   */
  goaway(stage: number, write?: (out: FrameWriter) => void): void {
    this.send(FrameType.Goaway, (out) => {
      out.varint(stage);
      write?.(out);
    });
  }

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
    // The peer's first frame is a hello. A peer that refuses the session sends a close frame instead, and a server may
    // first send a challenge.
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

  /** Sends a small frame at once, or after the frame that is being encoded. */
  protected send(type: number, write: (out: FrameWriter) => void, id: number = 0): void {
    this.channel.whenIdle(() => {
      if (this.over && type !== FrameType.Pong) return;
      this.channel.frame(type, id, write);
    });
  }

  /** Handles a frame of a call of this side. A lane without such calls throws `ProtocolError`. */
  protected onFrameOfOurs({ callId }: Frame): void {
    throw notInProgress(callId);
  }

  protected onPong(token: number): void {
    this.host.onPong?.(token);
  }

  /** Returns true if the lane must handle this frame although it has ended. */
  protected isAwaited(_frame: Frame): boolean {
    return false;
  }

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
    const { type, callId } = frame;
    if (callId !== 0) throw new ProtocolError(`a frame of type ${type} belongs to no call`);
    if (type === FrameType.Goaway) {
      this.onGoaway(cursorOf(frame).varint(), frame);
    } else if (type === FrameType.Ping) {
      const token = readPing(frame).slice();
      this.send(FrameType.Pong, (out) => out.bytes(token));
    } else if (type === FrameType.Pong) {
      this.onPong(cursorOf(frame).varint());
    } else if (type === FrameType.Credentials) {
      const { renewal } = this.host;
      if (renewal !== undefined) renewal.onFrame(frame);
      // The server reads proofs before it creates the session. A client without a key ignores a challenge.
      else if (frame.bytes[frame.start] !== CredentialsKind.OfProof)
        throw new ProtocolError("credentials are not renewed in this session");
    } else if (type === FrameType.Close) {
      if (this.host.onClose === undefined) throw new ProtocolError("a close frame on one of several streams");
      this.host.onClose(frame);
    } else {
      throw new ProtocolError(`frame type ${type} is unknown`);
    }
  }
}

const MAX_PING_BYTES = 8;

export function readPing({ bytes, start, end }: Frame): Uint8Array {
  if (end - start > MAX_PING_BYTES) throw new ProtocolError(`a ping carries more than ${MAX_PING_BYTES} bytes`);
  return bytes.subarray(start, end);
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

/** Handler of a lane on a side that serves nothing: it refuses calls and drops notifications. */
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
      // The caller may have sent these frames before the refusal reached it; notifications are dropped.
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
