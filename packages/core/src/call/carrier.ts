import { type Code, ProtocolError, type RpcError } from "../errors.js";
import type { Channel, ChannelSettings, FrameHandler } from "../transport/channel.js";
import type { Fault } from "./fault.js";
import type { Frame } from "../wire/frame.js";
import type { RawGreeting } from "../wire/hello.js";
import type { ReceiveFlow } from "./items/flow.js";
import type { FormatTable, SessionFormat } from "./messages/session-format.js";
import * as FrameType from "../wire/frame-type.js";

/** Settings that the carriers of a session share. */
export interface CarrierSettings extends ChannelSettings {
  /** Encodes the messages of calls that this side makes. */
  readonly format: SessionFormat | undefined;
  /** Greeting of this side, until its first lane has sent it; undefined if it is empty. */
  greeting: RawGreeting | undefined;
}

/** Carries notifications of the peer: a carrier of calls, or a datagram. */
export interface NotificationCarrier {
  /** Encodes the messages of calls that the peer makes, in both directions; undefined for standard MessagePack. */
  readonly peerFormat: SessionFormat | undefined;
  /** Called when the peer has named the codec of its call. Throws `RpcError` if it has already named one for all its calls. */
  readIn(codec: string): void;
}

/** The channel of one call, or of many. */
export interface CallChannel {
  readonly channel: Channel;
  /** Whether the channel belongs to a single call, so that the call's last frame ends the stream. */
  readonly single: boolean;
  /** Returns the flow control for items that a call receives; absent if their stream is paused instead. */
  receiveFlow?(id: number): ReceiveFlow;
}

/** Carries calls that this side makes: a lane (many calls), or the stream of a single call. */
export interface Carrier extends CallChannel {
  /** The id of a notification's frame, which belongs to no call. */
  readonly notifyId: number;
  /** Encodes the calls' messages, in both directions; undefined for standard MessagePack. */
  readonly format: SessionFormat | undefined;
  /** Adds a call and returns its id. Throws `RpcError` if it cannot be carried. */
  open(call: OutgoingCall): number;
  /** Called when a notification was sent on it. */
  onNotified?(): void;
  /** Removes a call that was not sent. */
  withdraw(id: number): void;
  /** Cancels a call. Nothing more is delivered for it. */
  cancel(id: number, code: Code): void;
}

/** Carries calls that the peer makes, and the answers to them. */
export interface AnswerCarrier extends CallChannel, NotificationCarrier {
  /** Registers a call that stays open after its request, so that cancels and credit reach it. */
  enter(id: number, call: IncomingCall): void;
  /** Asks the caller to stop sending items. On a lane, received items are dropped instead. */
  stopItems(): void;
  /** Called when the last frame of a call was sent. */
  leave(id: number): void;
}

/** Sets the priority of a call's own stream, if the transport supports it. */
export function prioritize({ single, channel }: Pick<CallChannel, "single" | "channel">, priority: number): void {
  if (single) channel.stream.setPriority?.(priority);
}

/** A call of this side, as its carrier sees it. `onResponse`, `onDone`, `onFault` or `onError` is called last. */
export interface OutgoingCall {
  /** The callee's response metadata, sent before its first message. */
  onHeaders(frame: Frame): void;
  onResponse(frame: Frame): void;
  onItem(frame: Frame): void;
  /** Called when the callee's items have ended before its call. */
  onItemsEnd(): void;
  onDone(frame: Frame): void;
  /** Called when the callee has ended the call with an error. */
  onFault(fault: Fault): void;
  /** Called when the call has failed on this side, or on the way. */
  onError(error: RpcError): void;
  /** Called when the callee has room for this many more bytes of items. */
  onCredit(bytes: number): void;
  /** Called when the callee stops reading items; its response is still to come. */
  onStopped(): void;
}

/** Passes a frame other than the last to `call`. Throws `ProtocolError` if callees do not send such a frame. */
export function deliver(call: OutgoingCall, frame: Frame): void {
  switch (frame.type) {
    case FrameType.Item:
      call.onItem(frame);
      return;
    case FrameType.HalfEnd:
      call.onItemsEnd();
      return;
    case FrameType.Headers:
      call.onHeaders(frame);
      return;
    default:
      throw new ProtocolError(`frame type ${frame.type} is not for the caller`);
  }
}

/** A call of the peer in progress, as its carrier sees it. */
export interface IncomingCall {
  /**
   * Called when the caller has cancelled or has disconnected.
   *
   * @param lost true if nothing more can be sent to the caller
   * @param withSession true if the session of its calls has ended
   */
  onCancel(code: Code, lost: boolean, withSession: boolean): void;
  onCredit(bytes: number): void;
  onItem(frame: Frame): void;
  /** Called with the error of an item that cannot be accepted; the call fails with it. */
  onBadItem(error: RpcError): void;
  /** Called when the caller's items have ended. */
  onItemsEnd(): void;
  /** Called when the caller's side of the call's own stream has ended. */
  onFinished(): void;
}

/** Serves the peer's calls, or refuses them. */
export interface Callee {
  /** Calls and notifications that are being served, and those that wait for it. */
  readonly calls: number;
  /** Maximum concurrent calls, as announced in this side's hellos; undefined if they do not announce it. */
  readonly maxCalls?: number | undefined;
  /** Called when the client has renewed its credentials: later calls have this connection value. */
  identify?(connection: unknown): void;
  /** Serves calls on a lane; if absent, they are refused. */
  onLane?(channel: Channel): LaneCallee;
  /** Serves a call on its own stream, and calls `onOver` when it is over; if absent, such streams are refused. */
  onStream?(channel: Channel, onOver: () => void): FrameHandler;
  /** Receives a datagram; if absent, none are read. */
  onDatagram?(bytes: Uint8Array): void;
}

/** The peer's calls on one lane. */
export interface LaneCallee {
  /** Called when the peer's hello has named the codec of its calls. */
  onHello(codec: string): void;
  /** Receives a frame of one of the peer's calls. If `oversized`, the frame is too large and has no body. */
  onFrame(frame: Frame): void;
  /** Aborts all calls in progress: the lane has ended. */
  end(): void;
}

/** Serves the calls that arrive on a carrier. */
export interface RequestHandler {
  /** The codecs that a peer may name. */
  readonly formats: FormatTable;
  onRequest(carrier: AnswerCarrier, frame: Frame): void;
  /** Called when a request or notification was skipped because it is too large. */
  onOversized(carrier: AnswerCarrier, frame: Frame, error: RpcError): void;
  onNotify(carrier: NotificationCarrier, frame: Frame): void;
}
