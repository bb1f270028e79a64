import type { Code, RpcError } from "../errors.js";
import type { Channel, ChannelSettings, FrameHandler } from "../transport/channel.js";
import type { Fault } from "./fault.js";
import type { Frame } from "../wire/frame.js";
import type { RawGreeting } from "../wire/hello.js";
import type { ReceiveFlow } from "./items/item-receiver.js";
import type { FormatTable, SessionFormat } from "./messages/session-format.js";

/** Settings that all streams of a session share. */
export interface CarrierSettings extends ChannelSettings {
  /** Codec for the messages of calls that this side makes; undefined for standard MessagePack. */
  readonly format: SessionFormat | undefined;
  /**
   * Session data that this side sends first, such as credentials. Set to undefined when the first lane has sent it;
   * also undefined if there is nothing to send.
   */
  greeting: RawGreeting | undefined;
}

/** A stream or datagram on which notifications of the peer arrive. */
export interface NotificationCarrier {
  /** Codec for the messages of calls that the peer makes, in both directions; undefined for standard MessagePack. */
  readonly peerFormat: SessionFormat | undefined;
  /**
   * Selects the codec that the peer has named for a call. Throws `RpcError` if the peer has already named a codec for
   * all its calls.
   */
  readIn(codec: string): void;
}

/** The stream that transports the frames of one call, or of many calls (a lane). */
export interface CallChannel {
  readonly channel: Channel;
  /**
   * True if the channel is a stream of a single call: the call's last frame then ends the stream. False for a lane,
   * which many calls share.
   */
  readonly single: boolean;
  /**
   * Returns the credit-based flow control for the items that call `id` receives. Absent on a call's own stream, which
   * is paused instead.
   */
  receiveFlow?(id: number): ReceiveFlow;
}

/** Sends calls of this side: a lane, which many calls share, or the stream of a single call. */
export interface Carrier extends CallChannel {
  /** Call id of notification frames. A notification has no response, so it does not reserve an id. */
  readonly notifyId: number;
  /** Codec for the messages of the calls, in both directions; undefined for standard MessagePack. */
  readonly format: SessionFormat | undefined;
  /** Registers a call and returns its id. Throws `RpcError` if the lane has ended or has no free id. */
  open(call: OutgoingCall): number;
  onNotified?(): void;
  /** Removes a call whose request was not sent. */
  withdraw(id: number): void;
  /** Cancels a call. The call's callbacks are not called any more. */
  cancel(id: number, code: Code): void;
}

export interface AnswerCarrier extends CallChannel, NotificationCarrier {
  /**
   * Registers a call that is still in progress after its request was read, so that later frames of the caller (items,
   * cancel, credit) reach it.
   */
  enter(id: number, call: IncomingCall): void;
  /** Asks the caller to stop sending items. On a lane there is no such request: further items are read and dropped. */
  stopItems(): void;
  /** Called after the last frame of a call's response was sent. */
  leave(id: number): void;
}

/** Sets the priority of a call's own stream, if the transport supports priorities. Does nothing on a lane. */
export function prioritize({ single, channel }: Pick<CallChannel, "single" | "channel">, priority: number): void {
  if (single) channel.stream.setPriority?.(priority);
}

/** Callbacks of a call that this side made. The last one is `onFault`, `onError`, or `onFrame` with the last frame. */
export interface OutgoingCall {
  /**
   * Called with each frame of the response except an error. Before the last frame, the carrier removes the call. Throws
   * `ProtocolError` if a callee must not send this type of frame.
   */
  onFrame(frame: Frame): void;
  onFault(fault: Fault): void;
  /** Called when the call has failed without a response of the callee, for example because the connection was lost. */
  onError(error: RpcError): void;
  /** Called when the callee allows this many more bytes of items. */
  onCredit(bytes: number): void;
  /** Called when the callee has stopped reading the caller's items. Its response is still to come. */
  onStopped(): void;
}

export interface IncomingCall {
  /**
   * Called when the caller has cancelled the call or has disconnected.
   *
   * @param carrierLost true if nothing more can be sent to the caller
   * @param withSession true if the whole session has ended
   */
  onCancel(code: Code, carrierLost: boolean, withSession: boolean): void;
  onCredit(bytes: number): void;
  onItem(frame: Frame): void;
  /** Called when a received item is too large. The call fails with `error`. */
  onBadItem(error: RpcError): void;
  onItemsEnd(): void;
  /** Called when the caller has ended its direction of the call's own stream. */
  onFinished(): void;
}

/** The serving side of a session: it handles the calls that the peer makes, or refuses them. */
export interface Callee {
  /** Number of the peer's calls and notifications that are running or waiting to run. */
  readonly calls: number;
  /** Maximum number of concurrent calls that this side announces to the peer; undefined if it announces no limit. */
  readonly maxCalls?: number | undefined;
  /**
   * Called when the client has renewed its credentials. `connection` becomes the handlers' `context.connection` for
   * later calls.
   */
  identify?(connection: unknown): void;
  /** Returns the handler of the peer's calls on a new lane. If absent, calls on lanes are refused. */
  onLane?(channel: Channel): LaneCallee;
  /**
   * Returns the handler of a call on its own stream; `onOver` is called when the call has ended. If absent, such
   * streams are refused.
   */
  onStream?(channel: Channel, onOver: () => void): FrameHandler;
  /** Handles a received datagram. If absent, datagrams are not read. */
  onDatagram?(bytes: Uint8Array): void;
  /** Called when the session has ended. */
  onClosed?(): void;
}

export interface LaneCallee {
  onHello(codec: string): void;
  /**
   * Handles a frame of one of the peer's calls. If `frame.oversized` is true, the frame exceeded the size limit and its
   * body was skipped.
   */
  onFrame(frame: Frame): void;
  /** Aborts all calls in progress, because the lane has ended. */
  end(): void;
}

export interface RequestHandler {
  readonly formats: FormatTable;
  onRequest(carrier: AnswerCarrier, frame: Frame): void;
  /** Called instead of `onRequest` or `onNotify` if the frame exceeded the size limit and its body was skipped. */
  onOversized(carrier: AnswerCarrier, frame: Frame, error: RpcError): void;
  onNotify(carrier: NotificationCarrier, frame: Frame): void;
}
