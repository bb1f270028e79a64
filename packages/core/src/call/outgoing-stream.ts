import { codeNumber } from "../codes.js";
import { type Code, ProtocolError, RpcError } from "../errors.js";
import { Channel, type FrameHandler } from "../transport/channel.js";
import { lostCall, describeReset } from "../transport/close-codes.js";
import type { DirectStream } from "../transport/session.js";
import type { Frame } from "../wire/frame.js";
import { oversized } from "./messages/payload.js";
import type { Carrier, CarrierSettings, OutgoingCall } from "./carrier.js";
import { receiveFault } from "./fault.js";
import type { SessionFormat } from "./messages/session-format.js";
import * as FrameType from "../wire/frame-type.js";
import * as StreamKind from "../wire/stream-kind.js";

/** Code of STOP_SENDING (RFC 9000 §19.5) if no error has occurred. */
const NO_ERROR = 0;

export interface StreamOpener {
  /**
   * Called once for each stream, when it is over.
   *
   * @param notifies whether the stream carried a notification
   * @param received true if the peer has received all data; false if it never will
   */
  onOver(notifies: boolean, received: boolean): void;
}

/** A call that this side makes on a stream of its own, not on a shared lane. Cancelling the call resets the stream. */
export class OutgoingCallStream implements Carrier, FrameHandler {
  readonly single = true;
  readonly notifyId = 0;
  readonly channel: Channel;
  readonly format: SessionFormat | undefined;
  private call: OutgoingCall | undefined = undefined;
  private readonly maxMetadataBytes: number;
  private readonly notifies: boolean;
  /** The object to notify when the stream has ended. Undefined after that. */
  private opener: StreamOpener | undefined;

  constructor(stream: DirectStream, settings: CarrierSettings, opener: StreamOpener, notifies: boolean) {
    this.opener = opener;
    this.notifies = notifies;
    this.format = settings.format;
    this.maxMetadataBytes = settings.limits.maxMetadataBytes;
    this.channel = Channel.open(stream, StreamKind.Call, this, settings);
  }

  open(call: OutgoingCall): number {
    this.call = call;
    return 0;
  }

  withdraw(): void {
    // Nothing was sent, so the peer does not have to be told.
    this.call = undefined;
    this.channel.reset(codeNumber("cancelled"));
    this.end(true);
  }

  cancel(_id: number, code: Code): void {
    this.call = undefined;
    this.channel.reset(codeNumber(code));
    this.end();
  }

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
    const { type } = frame;
    const fault = type === FrameType.Error ? receiveFault(this.channel, frame, this.maxMetadataBytes) : undefined;
    const isLast = fault !== undefined || type === FrameType.Response || type === FrameType.End;
    if (isLast) this.call = undefined;
    if (fault === undefined) call.onFrame(frame);
    else call.onFault(fault);
    if (isLast) this.channel.stopSending(NO_ERROR);
  }

  onEnd(): void {
    // Usually the call has already ended. The error is created only if it has not, because capturing its stack is slow.
    if (this.call !== undefined) this.settle(new RpcError("internal", "the stream ended before the call did"));
    this.end(true);
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

  private end(received = false): void {
    const { opener } = this;
    this.opener = undefined;
    opener?.onOver(this.notifies, received);
  }

  protected settle(error: RpcError): void {
    const { call } = this;
    this.call = undefined;
    call?.onError(error);
  }
}
