import type { Gathering } from "./gathering.js";
import { codeNumber } from "../codes.js";
import { asError, ProtocolError, RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import type { Measured, MemoryBudget } from "../memory-budget.js";
import type { Frame } from "../wire/frame.js";
import { FrameReader, type FrameReceiver } from "../wire/reader.js";
import { areManyBorrowed, FrameWriter } from "../wire/writer.js";
import type { SessionCompression } from "./compression.js";
import type { DirectStream, DirectStreamHandler } from "./session.js";
import * as ResetCode from "./close-codes.js";

/** Written bytes after which the channel asks the transport how many of them are still unsent. */
const MEASURE_AT = 4096;

/** Number of written bytes at which the channel sends them without waiting for the end of the event loop turn. */
const FLUSH_AT = 64 * 1024;

/** Buffer shared by all channels that send each frame at once. It can be reused when the stream's `write` returns. */
const shared: FrameWriter = new FrameWriter(16 * 1024);

/** Receives the events of a channel. No event follows `onFailed` or `onClosed`. */
export interface FrameHandler extends FrameReceiver {
  /** Called with each received frame. Throws `ProtocolError` to abort the channel. */
  onFrame(frame: Frame): void;
  /** Called when the peer has ended its sending side (FIN) after a complete frame. */
  onEnd(): void;
  onReset(code: number): void;
  onStopSending(code: number): void;
  /** Called after this side has aborted the stream because the peer violated the protocol. */
  onFailed(error: ProtocolError): void;
  onClosed(error: Error | undefined): void;
}

/** Counters that all channels of a session share. */
export interface Traffic {
  /** Bytes of credit granted to message streams on lanes beyond their initial credit. */
  extraCredit: number;
}

export interface ChannelSettings {
  readonly limits: ClientLimits;
  /** Bytes at the beginning of every stream, before the number of its kind. */
  readonly prefix: Uint8Array;
  /** Compression of messages; undefined if the session has none. */
  readonly compression: SessionCompression | undefined;
  /** Budget for the memory that data from the peer, and data that it does not read, occupies on this side. */
  readonly budget: MemoryBudget;
  readonly traffic: Traffic;
}

/** Sends and receives frames over one stream. */
export class Channel implements DirectStreamHandler, Measured {
  readonly stream: DirectStream;
  readonly compression: SessionCompression | undefined;
  /** True because decoding a frame copies its contents. */
  readonly borrows: boolean = true;
  /** False while the amount of unsent data exceeds the transport's high-water mark. */
  writable = true;
  /** Counter that grows whenever the peer shows activity: it sends bytes, or reads enough for `onDrain`. */
  signsOfLife = 0;
  readonly traffic: Traffic;
  private readonly reader: FrameReader;
  readonly limits: ClientLimits;
  readonly budget: MemoryBudget;
  private handler: FrameHandler | undefined = undefined;
  private readonly prefix: Uint8Array;
  /**
   * Number of the stream's kind, which is sent after the prefix and before the first frame; undefined once it has been
   * sent.
   */
  private kindToSend: number | undefined = undefined;
  private writer: FrameWriter = shared;
  /** Collects the frames of one turn of the event loop; undefined while each frame is sent at once. */
  private gathering: Gathering | undefined = undefined;
  private sendingOver = false;
  /**
   * True if the peer opened the stream. If the peer then does not read responses, this side does not read its requests.
   */
  accepted = false;
  private pauses = 0;
  private heldBack = false;
  /** Unsent bytes at the transport's last report, which are charged to the memory budget. */
  private unsentBytes = 0;
  /** Bytes written since the transport last reported its unsent bytes. */
  private unmeasured = 0;
  private waiting: (() => void)[] | undefined = undefined;

  private constructor(stream: DirectStream, { limits, budget, prefix, compression, traffic }: ChannelSettings) {
    this.traffic = traffic;
    this.stream = stream;
    this.compression = compression;
    this.prefix = prefix;
    this.limits = limits;
    this.budget = budget;
    this.reader = compression?.reader(budget, this) ?? new FrameReader(limits.maxFrameBytes, budget);
  }

  /** Creates the channel of a stream that this side opened. The stream's kind is sent with the first frame. */
  static open(stream: DirectStream, kind: number, handler: FrameHandler, settings: ChannelSettings): Channel {
    const channel = new Channel(stream, settings);
    channel.handler = handler;
    channel.kindToSend = kind;
    stream.attach(channel);
    return channel;
  }

  /**
   * Creates the channel of a stream that the peer opened, after its kind has been read. The handler attached to the
   * stream forwards events to the channel.
   */
  static accept(stream: DirectStream, handler: (channel: Channel) => FrameHandler, settings: ChannelSettings): Channel {
    const channel = new Channel(stream, settings);
    channel.accepted = true;
    channel.handler = handler(channel);
    return channel;
  }

  /** True if the frames of one turn are sent together. */
  get gathers(): boolean {
    return this.gathering !== undefined;
  }

  gather(gathering: Gathering): void {
    this.gathering = gathering;
    this.writer = gathering.writer;
  }

  /** Throws `RpcError` if unsent bytes exceed the memory budget because the peer does not read them. */
  requireRoom(): void {
    if (this.unsentBytes === 0 || this.budget.room >= 0) return;
    this.measure();
    if (this.unsentBytes > 0 && this.budget.room < 0) throw this.budget.refusal("what the peer does not read");
  }

  measure(): boolean {
    this.unmeasured = 0;
    return this.chargeUnsent(this.stream.pendingBytes());
  }

  get out(): FrameWriter {
    return this.writer;
  }

  /**
   * Sends one frame and returns its size in bytes. `write` appends the body; if it throws, nothing is sent and the
   * error is rethrown. If `end` is true, this side's sending ends (FIN) after the frame.
   */
  frame(
    typeAndFlags: number,
    callId: number,
    write: (out: FrameWriter, mark: number) => void,
    end: boolean = false,
  ): number {
    const { writer } = this;
    const start = this.begin();
    const bytes = writer.frame(typeAndFlags, callId, write, start);
    this.committed(end);
    return bytes;
  }

  /**
   * Writes the bytes that precede the first frame of the stream. Returns the position to which the writer returns if
   * the frame fails. The caller then writes one frame and calls `committed`.
   */
  begin(): number {
    const { writer, prefix, kindToSend } = this;
    const start = writer.position;
    if (kindToSend !== undefined) {
      writer.requireIdle();
      if (prefix.length > 0) writer.bytes(prefix);
      writer.varint(kindToSend);
    }
    return start;
  }

  /**
   * Sends a complete frame at once or at the end of the event loop turn. If `end` is true, this side's sending ends
   * (FIN) after it.
   */
  committed(end: boolean): void {
    const { writer, gathering } = this;
    this.kindToSend = undefined;
    if (end || gathering === undefined || writer.position >= FLUSH_AT) this.flush(end);
    else if (!gathering.scheduled) {
      if (areManyBorrowed()) this.flush(false);
      else gathering.schedule();
    }
  }

  /**
   * Runs `write` now, or after the frame that is being encoded, because an encoder may call application code that makes
   * a call.
   */
  whenIdle(write: () => void): void {
    if (this.writer.idle) write();
    else queueMicrotask(write);
  }

  /** Ends this side's sending (FIN) without a further frame. */
  finish(): void {
    this.flush(true);
  }

  flushNow(): void {
    this.flush(false);
  }

  stopSending(code: number): void {
    if (this.sendingOver) return;
    this.sendingOver = true;
    this.stream.reset(code);
    this.measureUnsent();
  }

  /**
   * Stops reading for good, and asks the peer to stop sending with an application error code. No further frame is
   * delivered.
   */
  refuseMore(code: number): void {
    this.reader.stop();
    this.stream.stopSending(code);
  }

  reset(code: number): void {
    this.stopReading();
    this.sendingOver = true;
    this.stream.reset(code);
    this.stream.stopSending(code);
    this.measureUnsent();
  }

  /** Stops reading until `resume` has been called as many times as `pause`. */
  pause(): void {
    if (this.pauses++ === 0) this.stream.pause();
  }

  resume(): void {
    if (--this.pauses === 0) this.stream.resume();
  }

  /** Calls `resume` once, when `writable` is true again. Does not call it if the stream ends before that. */
  whenWritable(resume: () => void): void {
    this.waiting ??= [];
    this.waiting.push(resume);
  }

  fail(error: ProtocolError, code: number = ResetCode.ProtocolViolation): void {
    const { handler } = this;
    if (handler === undefined) return;
    this.reset(code);
    handler.onFailed(error);
  }

  /** @param from position of the first frame */
  onData(chunk: Uint8Array, from: number = 0): void {
    this.signsOfLife++;
    const { handler } = this;
    // The channel has ended, so frames have no receiver.
    if (handler === undefined) return;
    try {
      this.reader.push(chunk, from, handler);
    } catch (error) {
      if (error instanceof RpcError) this.refuse(error);
      else if (error instanceof ProtocolError) this.fail(error);
      else this.fail(new ProtocolError(asError(error).message, { cause: error }));
      return;
    }
    // Responses that are complete are sent now. Unlike `gathering`, the shared writer is always empty between turns.
    if (this.gathering !== undefined) this.flush(false);
  }

  onEnd(): void {
    if (this.reader.midFrame) {
      this.fail(new ProtocolError("the stream ends within a frame"));
    } else {
      this.handler?.onEnd();
    }
  }

  onReset(code: number): void {
    const { handler } = this;
    this.stopReading();
    if (handler === undefined) this.stream.reset(code);
    else handler.onReset(code);
  }

  onStopSending(code: number): void {
    this.sendingOver = true;
    this.stream.reset(code);
    this.measureUnsent();
    this.handler?.onStopSending(code);
  }

  onDrain(): void {
    this.signsOfLife++;
    this.writable = true;
    this.measureUnsent();
    this.letGo();
    const { waiting } = this;
    this.waiting = undefined;
    if (waiting !== undefined) for (const resume of waiting) resume();
  }

  onClosed(error: Error | undefined): void {
    const { handler } = this;
    this.stopReading();
    this.sendingOver = true;
    this.chargeUnsent(0);
    handler?.onClosed(error);
  }

  private stopReading(): void {
    this.reader.stop();
    this.handler = undefined;
  }

  private flush(end: boolean): void {
    const { writer } = this;
    // A frame is sent when it is complete.
    if (!writer.idle || (writer.position === 0 && !end)) return;
    const bytes = writer.written();
    const isOpen = !this.sendingOver;
    try {
      if (isOpen) {
        this.sendingOver = end;
        this.writable = this.stream.write(bytes, end);
      }
    } catch (error) {
      this.onClosed(asError(error));
      return;
    } finally {
      // The writer is cleared even if the stream has ended, because its buffer may be shared.
      writer.clear();
    }
    if (!isOpen) return;
    this.unmeasured += bytes.length;
    const fits = this.writable && this.unmeasured < MEASURE_AT ? true : this.measure();
    if (end) this.letGo();
    else if (!this.writable) this.holdBack();
    // The budget may be exceeded by the size of one frame, because a refused request adds an error response to the
    // unsent bytes, and the peer may have sent more requests before it received one.
    if (!fits && this.unsentBytes > 0 && this.budget.room < -this.limits.maxFrameBytes)
      this.refuse(this.budget.refusal("what the peer does not read"));
  }

  private measureUnsent(): void {
    if (this.unsentBytes > 0) this.measure();
  }

  private letGo(): void {
    if (!this.heldBack) return;
    this.heldBack = false;
    this.resume();
  }

  private holdBack(): void {
    if (!this.accepted || this.heldBack) return;
    this.heldBack = true;
    this.pause();
  }

  /** Sets the number of unsent bytes that are charged to the memory budget. Returns false if the budget is exceeded. */
  private chargeUnsent(bytes: number): boolean {
    const { budget, unsentBytes } = this;
    if (bytes === unsentBytes) return true;
    this.unsentBytes = bytes;
    if (bytes < unsentBytes) budget.release(unsentBytes - bytes);
    if (bytes === 0) budget.unwatch(this);
    else if (unsentBytes === 0) budget.watch(this);
    return bytes < unsentBytes || budget.charge(bytes - unsentBytes);
  }

  private refuse(error: RpcError): void {
    this.fail(new ProtocolError(error.message, { cause: error }), codeNumber(error.code));
  }
}
