import { codeNumber } from "../../codes.js";
import { type Code, RpcError, untracedError } from "../../errors.js";
import { Channel, type FrameHandler } from "../../transport/channel.js";
import type { DirectStream } from "../../transport/session.js";
import { cursorOf } from "../../wire/cursor.js";
import type { Frame } from "../../wire/frame.js";
import type { Carrier, CarrierSettings, OutgoingCall } from "../carrier.js";
import { receiveFault } from "../fault.js";
import type { ReceiveFlow } from "../items/item-receiver.js";
import { oversized } from "../messages/payload.js";
import { LaneReceiveFlow } from "./lane-flow.js";
import { type LaneHost, notInProgress, PeerLane } from "./peer-lane.js";
import * as FrameType from "../../wire/frame-type.js";
import * as StreamKind from "../../wire/stream-kind.js";
import { young } from "../../young.js";

/** Number of unacknowledged notifications after which the lane pings the peer, to learn whether they have arrived. */
const ASK_EVERY = 256;
/** Token of the pings that a lane sends itself. Larger than any token of a session's pings. */
const ASK = 2 ** 29;
const LAST_ASK = ASK + 1;

/** Placeholder for a cancelled call. It ignores the remaining frames; the last one frees the call id. */
const GIVEN_UP: OutgoingCall = {
  onFrame() {},
  onFault() {},
  onError() {},
  onCredit() {},
  onStopped() {},
};

/**
 * A stream that many calls share. Both sides may make calls on it: the lowest bit of a call id is 0 for calls of the
 * side that opened the stream, and 1 for calls of the other side.
 */
export class Lane extends PeerLane implements Carrier {
  readonly single = false;
  readonly notifyId: number;
  readonly outgoing: CallTable<OutgoingCall>;
  private readonly maxCalls: number;
  private readonly maxMetadataBytes: number;
  private givenUp = 0;
  private onFinished: ((received: boolean) => void) | undefined = undefined;
  /**
   * Number of notifications sent on the lane. `received`: how many of them the peer has confirmed. `requestedAt`: the value
   * of `notified` when the pending ping was sent.
   */
  private notified = 0;
  private received = 0;
  private requestedAt: number | undefined = undefined;

  constructor(
    ourBit: 0 | 1,
    channel: (lane: FrameHandler) => Channel,
    host: LaneHost,
    onOver: (lane: PeerLane, error: RpcError) => void,
  ) {
    super(ourBit, channel, host, onOver);
    const { maxCallsPerLane, maxMetadataBytes } = host.settings.limits;
    this.notifyId = ourBit;
    this.maxCalls = maxCallsPerLane;
    this.maxMetadataBytes = maxMetadataBytes;
    this.outgoing = new CallTable(maxCallsPerLane);
  }

  static on(stream: DirectStream, settings: CarrierSettings): (lane: FrameHandler) => Channel {
    return (lane) => Channel.open(stream, StreamKind.Lane, lane, settings);
  }

  get unacknowledged(): number {
    return this.notified - this.received;
  }

  onNotified(): void {
    this.notified++;
    if (this.requestedAt !== undefined || this.unacknowledged < ASK_EVERY) return;
    this.requestedAt = this.notified;
    this.ping(ASK);
  }

  ping(token: number): void {
    this.send(FrameType.Ping, (out) => out.varint(token));
  }

  /**
   * Ends the lane: fails the calls in progress, and sends a last ping. Calls `onFinished` when the pong shows that the
   * peer has received all data, or when the connection is lost.
   */
  finish(onFinished: () => void): void {
    this.channel.whenIdle(() => {
      this.ping(LAST_ASK);
      this.channel.flushNow();
      this.end(untracedError("unavailable", "the session was closed"));
      this.onFinished = young((received) => {
        if (received) this.received = this.notified;
        onFinished();
      });
    });
  }

  get callsMade(): number {
    return this.outgoing.size;
  }

  /**
   * True if new calls need another lane: this one has ended, or all its ids are in use, some of them by cancelled
   * calls.
   */
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

  receiveFlow(id: number): ReceiveFlow {
    return new LaneReceiveFlow(this, id);
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

  protected override onFrameOfOurs(frame: Frame): void {
    if (frame.oversized) {
      this.onOversized(frame);
      return;
    }
    const index = frame.callId >>> 1;
    const call = this.outgoing.get(index);
    if (frame.type === FrameType.Credit) {
      call?.onCredit(cursorOf(frame).varint());
      return;
    }
    if (call === undefined) throw notInProgress(frame.callId);
    if (frame.type === FrameType.Error) {
      this.endWithFault(index, call, frame);
      return;
    }
    if (frame.type === FrameType.Response || frame.type === FrameType.End) this.release(index, call);
    call.onFrame(frame);
  }

  protected override onPong(token: number): void {
    if (token === LAST_ASK) {
      this.finished(true);
    } else if (token === ASK) {
      this.received = this.requestedAt ?? this.received;
      this.requestedAt = undefined;
    } else {
      super.onPong(token);
    }
  }

  protected override isAwaited({ type }: Frame): boolean {
    if (this.onFinished === undefined) return false;
    return type === FrameType.Hello || type === FrameType.Ping || type === FrameType.Pong || type === FrameType.Close;
  }

  protected override end(error: RpcError): void {
    super.end(error);
    for (const call of this.outgoing.drain()) call.onError(error);
    this.finished(false);
  }

  private finished(received: boolean): void {
    const { onFinished } = this;
    this.onFinished = undefined;
    onFinished?.(received);
  }

  /** Handles a frame that exceeds the size limit: fails only the call to which the frame belongs. */
  private onOversized(frame: Frame): void {
    const { callId, type } = frame;
    const index = callId >>> 1;
    const call = this.outgoing.get(index);
    if (call === undefined) throw notInProgress(callId);
    const error = oversized(frame, this.channel.limits);
    call.onError(error);
    if (type === FrameType.Item || type === FrameType.Headers) this.cancel(callId, error.code);
    else this.release(index, call);
  }

  /**
   * Ends a call with the error that the callee sent. If the error frame is malformed, the call stays in the table and
   * fails with the lane.
   */
  private endWithFault(index: number, call: OutgoingCall, frame: Frame): void {
    const fault = receiveFault(this.channel, frame, this.maxMetadataBytes);
    this.release(index, call);
    call.onFault(fault);
  }

  private release(index: number, call: OutgoingCall): void {
    this.outgoing.release(index);
    if (call === GIVEN_UP) this.givenUp--;
    const { places } = this.host;
    if (places !== undefined) places.onCallOver();
    if (this.outgoing.size === 0) this.host.onIdle();
  }
}

/**
 * A table that assigns small, dense indexes to its entries, and reuses an index after `release`. About ten times as
 * fast as a `Map`.
 */
export class CallTable<T> {
  private readonly entries: (T | undefined)[] = [];
  private readonly free: number[] = [];
  private readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.entries.length - this.free.length;
  }

  /** Adds an entry. Returns its index, or -1 if the table is full. */
  add(entry: T): number {
    const index = this.free.pop() ?? this.entries.length;
    if (index >= this.capacity) return -1;
    this.entries[index] = entry;
    return index;
  }

  get(index: number): T | undefined {
    return index < this.entries.length ? this.entries[index] : undefined;
  }

  replace(index: number, entry: T): void {
    this.entries[index] = entry;
  }

  release(index: number): void {
    this.entries[index] = undefined;
    this.free.push(index);
  }

  live(): T[] {
    return this.entries.filter((entry) => entry !== undefined);
  }

  drain(): T[] {
    const live = this.live();
    this.entries.length = 0;
    this.free.length = 0;
    return live;
  }
}
