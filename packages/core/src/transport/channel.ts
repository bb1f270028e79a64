import type { Gathering } from "./gathering.js";
import { codeNumber } from "../codes.js";
import { asError, ProtocolError, RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import type { Measured, MemoryBudget } from "../memory-budget.js";
import type { Frame } from "../wire/frame.js";
import { FrameReader, type FrameReceiver } from "../wire/reader.js";
import { FrameWriter } from "../wire/writer.js";
import type { SessionCompression } from "./compression.js";
import type { DirectStream, DirectStreamHandler } from "./session.js";
import * as ResetCode from "./close-codes.js";

/** Number of written bytes after which the transport is asked how many of them wait. */
const MEASURE_AT = 4096;

/** Written bytes that are sent at once, without waiting for the end of the turn. */
const FLUSH_AT = 64 * 1024;

/** One buffer serves every channel that sends each frame at once: `write` has taken the bytes when it returns. */
const shared: FrameWriter = new FrameWriter(16 * 1024);

/** Receives the events of a channel. After `onFailed` or `onClosed` nothing follows. */
export interface FrameHandler extends FrameReceiver {
  /** Throws `ProtocolError` to abort the channel. */
  onFrame(frame: Frame): void;
  /** FIN, after whole frames. */
  onEnd(): void;
  onReset(code: number): void;
  onStopSending(code: number): void;
  /** Called when this side has aborted the stream because the peer violated the protocol. */
  onFailed(error: ProtocolError): void;
  /** The session ended. */
  onClosed(error: Error | undefined): void;
}

/** Counters of all channels of a session. */
export interface Traffic {
  /** Bytes of credit that streams of messages on lanes have beyond their first. */
  extraCredit: number;
}

/** Settings and state that the channels of a session share. */
export interface ChannelSettings {
  readonly limits: ClientLimits;
  /** Bytes that every stream begins with, before its kind. */
  readonly prefix: Uint8Array;
  /** Undefined if nothing is compressed. */
  readonly compression: SessionCompression | undefined;
  /** Budget for the memory that the peer makes this side hold. */
  readonly budget: MemoryBudget;
  readonly traffic: Traffic;
}

/** One stream as frames, both ways. */
export class Channel implements DirectStreamHandler, Measured {
  readonly stream: DirectStream;
  readonly compression: SessionCompression | undefined;
  /** The contents of a frame are copied when it is decoded. */
  readonly borrows: boolean = true;
  /** False above the transport's high-water mark. */
  writable = true;
  /** Grows with every sign of the peer: bytes that arrive, and room for more. */
  signsOfLife = 0;
  readonly traffic: Traffic;
  private readonly reader: FrameReader;
  readonly limits: ClientLimits;
  readonly budget: MemoryBudget;
  private handler: FrameHandler | undefined = undefined;
  private readonly prefix: Uint8Array;
  /** Goes out, after the prefix, before the first frame; undefined once it has. */
  private kindToSend: number | undefined = undefined;
  private writer: FrameWriter = shared;
  /** Undefined while each frame is sent at once. */
  private gathering: Gathering | undefined = undefined;
  private sendingOver = false;
  /** Whether the peer opened the stream: if it does not read our responses, its requests are not read either. */
  accepted = false;
  private pauses = 0;
  private heldBack = false;
  /** Bytes that waited in the transport when it was last asked, as charged to the budget. */
  private unsentBytes = 0;
  /** Bytes handed over since then. */
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

  /** A stream this side opened; its kind goes out with the first frame. */
  static open(stream: DirectStream, kind: number, handler: FrameHandler, settings: ChannelSettings): Channel {
    const channel = new Channel(stream, settings);
    channel.handler = handler;
    channel.kindToSend = kind;
    stream.attach(channel);
    return channel;
  }

  /**
   * Takes over a stream that the peer opened, after its kind was read. The owner of the stream's handler forwards
   * events to the channel.
   */
  static accept(stream: DirectStream, handler: (channel: Channel) => FrameHandler, settings: ChannelSettings): Channel {
    const channel = new Channel(stream, settings);
    channel.accepted = true;
    channel.handler = handler(channel);
    return channel;
  }

  get gathers(): boolean {
    return this.gathering !== undefined;
  }

  /** Frames are gathered from now on. */
  gather(gathering: Gathering): void {
    this.gathering = gathering;
    this.writer = gathering.writer;
  }

  /** Throws `RpcError` if the peer does not read and the unsent bytes are over the limit. */
  requireRoom(): void {
    if (this.unsentBytes === 0 || this.budget.room >= 0) return;
    this.measure();
    if (this.unsentBytes > 0 && this.budget.room < 0) throw this.budget.refusal("what the peer does not read");
  }

  /** Asks the transport how many of the bytes that it was given are still unsent. */
  measure(): boolean {
    this.unmeasured = 0;
    return this.chargeUnsent(this.stream.pendingBytes());
  }

  /** The buffer that frames are appended to. */
  get out(): FrameWriter {
    return this.writer;
  }

  /**
   * Sends one frame, whose body `write` appends, and returns its bytes. With `end`, it is this side's last frame and FIN follows. If
   * `write` throws, so does this, and nothing of the frame is sent.
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
   * Writes the bytes that precede the first frame; returns the position to which a frame is rolled back. Call
   * `committed` after the frame.
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

  /** Sends the frame that has been written, now or at the end of the turn; with `end`, FIN follows. */
  committed(end: boolean): void {
    const { writer, gathering } = this;
    this.kindToSend = undefined;
    if (end || gathering === undefined || writer.position >= FLUSH_AT) this.flush(end);
    else if (!gathering.scheduled) gathering.schedule();
  }

  /** Runs `write` now, or after the frame that is being encoded: user code called from an encoder may lead here. */
  whenIdle(write: () => void): void {
    if (this.writer.idle) write();
    else queueMicrotask(write);
  }

  /** Ends this side with FIN, without a further frame. */
  finish(): void {
    this.flush(true);
  }

  /** Sends what waits for the end of the turn. */
  flushNow(): void {
    this.flush(false);
  }

  /** Abandons the sending side, unless it has ended. */
  stopSending(code: number): void {
    if (this.sendingOver) return;
    this.sendingOver = true;
    this.stream.reset(code);
    this.measureUnsent();
  }

  /** Stops reading, for good: nothing more is delivered. */
  refuseMore(code: number): void {
    this.reader.stop();
    this.stream.stopSending(code);
  }

  /** Gives both directions up with an application error code. */
  reset(code: number): void {
    this.stopReading();
    this.sendingOver = true;
    this.stream.reset(code);
    this.stream.stopSending(code);
    this.measureUnsent();
  }

  /** Stops reading until `resume` has been called as often. */
  pause(): void {
    if (this.pauses++ === 0) this.stream.pause();
  }

  resume(): void {
    if (--this.pauses === 0) this.stream.resume();
  }

  /** Calls `resume` once, when `writable` is true again. Never calls it if the stream ends before. */
  whenWritable(resume: () => void): void {
    this.waiting ??= [];
    this.waiting.push(resume);
  }

  /** Aborts the stream because the peer violated the protocol or does not read. */
  fail(error: ProtocolError, code: number = ResetCode.ProtocolError): void {
    const { handler } = this;
    if (handler === undefined) return;
    this.reset(code);
    handler.onFailed(error);
  }

  /** @param from position of the first frame */
  onData(chunk: Uint8Array, from: number = 0): void {
    this.signsOfLife++;
    const { handler } = this;
    // The frames have no receiver any more.
    if (handler === undefined) return;
    try {
      this.reader.push(chunk, from, handler);
    } catch (error) {
      if (error instanceof RpcError) this.refuse(error);
      else if (error instanceof ProtocolError) this.fail(error);
      else this.fail(new ProtocolError(asError(error).message, { cause: error }));
      return;
    }
    // Answers that are ready leave now; `shared` never holds any between turns.
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
    // The whole frame leaves when it is committed.
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
      // In any case, because the buffer may be shared.
      writer.clear();
    }
    if (!isOpen) return;
    this.unmeasured += bytes.length;
    const fits = this.writable && this.unmeasured < MEASURE_AT ? true : this.measure();
    if (end) this.letGo();
    else if (!this.writable) this.holdBack();
    // A refusal is answered, and the answer adds to the bytes that wait; the peer may have sent more before it received one.
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

  /** Stops reading requests of a peer that does not read its responses. */
  private holdBack(): void {
    if (!this.accepted || this.heldBack) return;
    this.heldBack = true;
    this.pause();
  }

  /** Charges the memory budget for unsent bytes. */
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
