import { ProtocolError } from "../errors.js";
import type { Frame } from "../wire/frame.js";
import { FrameReader } from "../wire/reader.js";
import { readVarint, varintLengthFromFirstByte } from "../wire/varint.js";
import { FrameWriter } from "../wire/writer.js";
import { ResetCode } from "./reset-codes.js";
import type { DirectStream, DirectStreamHandler } from "./session.js";

/** Written bytes that are sent at once, without waiting for the end of the turn. */
const FLUSH_AT = 64 * 1024;
const LANE_BUFFER = 16 * 1024;

/** One buffer serves every channel that sends each frame at once: `write` has taken the bytes when it returns. */
const shared: FrameWriter = new FrameWriter(LANE_BUFFER);

/** What a channel tells its owner. After `onFailed` or `onClosed` nothing follows. */
export interface FrameHandler {
  /** Throws `ProtocolError` to give the channel up. */
  onFrame(frame: Frame): void;
  /** FIN, after whole frames. */
  onEnd(): void;
  onReset(code: number): void;
  onStopSending(code: number): void;
  /** This side gave the stream up, because of what the peer sent. */
  onFailed(error: ProtocolError): void;
  /** The session ended. */
  onClosed(error: Error | undefined): void;
}

/** Chooses the handler of an incoming stream by its kind; undefined refuses it. */
export type HandlerOfKind = (kind: number, channel: Channel) => FrameHandler | undefined;

/** One stream as frames, both ways. */
export class Channel implements DirectStreamHandler {
  readonly stream: DirectStream;
  /** False above the transport's high-water mark. */
  writable = true;
  private readonly reader: FrameReader;
  private handler: FrameHandler | undefined;
  private handlerOfKind: HandlerOfKind | undefined;
  /** Goes out before the first frame; undefined once it has. */
  private kindToSend: number | undefined;
  private prefix: Uint8Array | undefined;
  private writer: FrameWriter = shared;
  private flushScheduled = false;
  private sendingOver = false;
  private waiting: (() => void)[] | undefined;
  private readonly onFrame = (frame: Frame): void => this.handler?.onFrame(frame);
  private readonly flushLater = (): void => {
    this.flushScheduled = false;
    this.flush(false);
  };

  private constructor(stream: DirectStream, maxFrameBytes: number) {
    this.stream = stream;
    this.reader = new FrameReader(maxFrameBytes);
  }

  /** A stream this side opened; its kind goes out with the first frame. */
  static open(
    stream: DirectStream,
    kind: number,
    coalesced: boolean,
    handler: FrameHandler,
    maxFrameBytes: number,
  ): Channel {
    const channel = new Channel(stream, maxFrameBytes);
    channel.handler = handler;
    if (coalesced) channel.coalesce();
    channel.kindToSend = kind;
    stream.attach(channel);
    return channel;
  }

  /** A stream the peer opened. */
  static accept(stream: DirectStream, handlerOfKind: HandlerOfKind, maxFrameBytes: number): Channel {
    const channel = new Channel(stream, maxFrameBytes);
    channel.handlerOfKind = handlerOfKind;
    stream.attach(channel);
    return channel;
  }

  /** From now on, frames of one turn of the event loop leave in one write. */
  coalesce(): void {
    if (this.writer === shared) this.writer = new FrameWriter(LANE_BUFFER);
  }

  /** The buffer that frames are appended to: `begin`, the body, then `commit` or `abandon`. */
  get out(): FrameWriter {
    return this.writer;
  }

  /** Starts a frame in `out` and returns its mark. */
  begin(typeAndFlags: number, callId: number): number {
    this.writer.requireIdle();
    if (this.kindToSend !== undefined) {
      this.writer.varint(this.kindToSend);
      this.kindToSend = undefined;
    }
    return this.writer.begin(typeAndFlags, callId);
  }

  /** Ends the frame; with `end`, it is this side's last and FIN follows. */
  commit(mark: number, end = false): void {
    this.writer.commit(mark);
    if (end || this.writer === shared || this.writer.position >= FLUSH_AT) this.flush(end);
    else this.schedule();
  }

  /** Takes back a frame that could not be encoded. A channel that sends each frame at once must then be reset. */
  abandon(mark: number): void {
    this.writer.abandon(mark);
    if (this.writer === shared) this.writer.clear();
  }

  /** Ends this side with FIN, without a further frame. */
  finish(): void {
    this.flush(true);
  }

  /** Gives both directions up with an application error code. */
  reset(code: number): void {
    this.stopReading();
    this.sendingOver = true;
    this.stream.reset(code);
    this.stream.stopSending(code);
  }

  /** Calls `resume` once, when `writable` is true again. Never calls it if the stream ends before. */
  whenWritable(resume: () => void): void {
    this.waiting ??= [];
    this.waiting.push(resume);
  }

  /** Gives the stream up because of what the peer sent. */
  fail(error: ProtocolError): void {
    const { handler } = this;
    if (handler === undefined && this.handlerOfKind === undefined) return;
    this.reset(ResetCode.ProtocolError);
    handler?.onFailed(error);
  }

  onData(chunk: Uint8Array): void {
    try {
      if (this.handlerOfKind !== undefined) this.readKind(chunk);
      else this.reader.push(chunk, 0, this.onFrame);
    } catch (error) {
      this.fail(error instanceof ProtocolError ? error : new ProtocolError(String(error), { cause: error }));
      return;
    }
    // Answers that are ready leave now; `shared` never holds any between turns.
    if (this.writer !== shared) this.flush(false);
  }

  onEnd(): void {
    if (this.handlerOfKind !== undefined || this.reader.midFrame) {
      this.fail(new ProtocolError("the stream ends within a frame"));
    } else {
      this.handler?.onEnd();
    }
  }

  onReset(code: number): void {
    const { handler } = this;
    this.stopReading();
    handler?.onReset(code);
  }

  onStopSending(code: number): void {
    this.sendingOver = true;
    this.stream.reset(code);
    this.handler?.onStopSending(code);
  }

  onDrain(): void {
    this.writable = true;
    const { waiting } = this;
    this.waiting = undefined;
    if (waiting !== undefined) for (const resume of waiting) resume();
  }

  onClosed(error: Error | undefined): void {
    const { handler } = this;
    this.stopReading();
    this.sendingOver = true;
    handler?.onClosed(error);
  }

  private stopReading(): void {
    this.reader.stop();
    this.handler = undefined;
    this.handlerOfKind = undefined;
  }

  private schedule(): void {
    if (this.flushScheduled) return;
    this.flushScheduled = true;
    queueMicrotask(this.flushLater);
  }

  private flush(end: boolean): void {
    const { writer } = this;
    if (writer.position === 0 && !end) return;
    if (!this.sendingOver) {
      this.sendingOver = end;
      this.writable = this.stream.write(writer.written(), end);
    }
    writer.clear();
  }

  private readKind(chunk: Uint8Array): void {
    const bytes = this.prefix === undefined ? chunk : join(this.prefix, chunk);
    if (bytes.length === 0) return;
    const length = varintLengthFromFirstByte(bytes[0] as number);
    if (bytes.length < length) {
      this.prefix = bytes;
      return;
    }
    const choose = this.handlerOfKind as HandlerOfKind;
    this.prefix = undefined;
    this.handlerOfKind = undefined;
    this.handler = choose(readVarint(bytes, 0), this);
    if (this.handler === undefined) this.reset(ResetCode.UnknownKind);
    else this.reader.push(bytes, length, this.onFrame);
  }
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}
