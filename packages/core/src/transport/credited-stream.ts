import { asError, ProtocolError } from "../errors.js";
import { Fifo } from "../fifo.js";
import { readVarint, varintLengthFromFirstByte } from "../wire/cursor.js";
import { varintLength, writeVarint } from "../wire/writer.js";
import type { ByteStream, ByteStreamHandler } from "./byte-stream.js";
import { ByteQueue } from "./byte-queue.js";
import type { WebTransportStream } from "./session.js";

/** Maximum bytes that this side sends before the peer has read them. */
const WINDOW = 1024 * 1024;
/** Number of bytes that this side reads before it acknowledges them. */
const ACK_STEP = WINDOW / 4;
const MAX_CHUNK = 32 * 1024;

/**
 * A byte stream over a pair of WHATWG streams whose transport has no backpressure. The receiver provides it: it reports
 * how many bytes it has read. The data in each direction consists of
 *
 *     length (varint, not 0) | bytes          a chunk
 *     0 | count (varint, not 0)               `count` bytes of the peer's chunks were read
 *
 * A side sends at most 1 MiB that the peer has not read (docs/protocol.md §8). Reading begins at once, so this also
 * limits the data that is buffered before `attach` or while delivery is paused.
 */
export class CreditedStream implements ByteStream {
  private readonly release: () => void;
  private handler: ByteStreamHandler | undefined = undefined;
  private writer: WritableStreamDefaultWriter<Uint8Array> | undefined = undefined;
  /** Chunks, including their length fields, that cannot be sent until the peer has read earlier ones. */
  private readonly queue: Fifo<{ readonly message: Uint8Array; readonly size: number }> = new Fifo();
  private queued = 0;
  private untaken = 0;
  private drainWanted = false;
  private ending = false;
  private finished = false;
  private peerEnded = false;
  /** Data that arrived before a handler was attached, or while delivery is paused. */
  private readonly held: ByteQueue = new ByteQueue();
  /** True if the peer has ended its side, and that event is delivered after the bytes in `held`. */
  private endHeld = false;
  private paused = false;
  /** Number of bytes read by the handler since the last acknowledgement. */
  private taken = 0;
  /** Number of bytes that have arrived and are not acknowledged yet. */
  private unacknowledged = 0;
  /** Number of bytes of the current chunk that have not arrived yet. */
  private remaining = 0;
  private isAcknowledgement = false;
  private readonly varint: Uint8Array = new Uint8Array(8);
  private varintBytes = 0;
  private over: { readonly error: Error | undefined } | undefined = undefined;

  /** @param release called when the stream has ended, to release the session that owns it */
  constructor(opened: Promise<WebTransportStream>, release: () => void) {
    this.release = release;
    opened.then(
      (stream) => this.open(stream),
      (error: unknown) => this.lost(error),
    );
  }

  attach(handler: ByteStreamHandler): void {
    this.handler = handler;
    queueMicrotask(() => {
      this.deliver();
      if (this.over !== undefined) handler.onClosed(this.over.error);
    });
  }

  write(bytes: Uint8Array): boolean {
    if (this.ending || this.peerEnded || this.over !== undefined) return true;
    for (let at = 0; at < bytes.length; at += MAX_CHUNK) {
      const size = Math.min(bytes.length - at, MAX_CHUNK);
      const header = varintLength(size);
      const message = new Uint8Array(header + size);
      writeVarint(message, 0, size);
      message.set(bytes.subarray(at, at + size), header);
      this.queue.push({ message, size });
      this.queued += size;
    }
    this.sendQueued();
    this.drainWanted = this.untaken + this.queued > WINDOW;
    return !this.drainWanted;
  }

  pendingBytes(): number {
    return this.untaken + this.queued;
  }

  end(): void {
    this.ending = true;
    this.sendQueued();
  }

  destroy(): void {
    if (this.over !== undefined) return;
    this.stop(undefined);
    this.handler = undefined;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.deliver();
  }

  lost(error: unknown): void {
    if (this.over !== undefined) return;
    const reason = asError(error);
    this.stop(reason);
    this.handler?.onClosed(reason);
  }

  private open({ readable, writable }: WebTransportStream): void {
    const writer = writable.getWriter();
    this.writer = writer;
    writer.ready.catch(() => {});
    writer.closed.catch((error: unknown) => this.lost(error));
    this.sendQueued();
    void this.receive(readable.getReader());
  }

  private stop(error: Error | undefined): void {
    this.over = { error };
    this.queue.clear();
    this.held.clear();
    this.release();
  }

  private sendQueued(): void {
    const { writer, queue } = this;
    if (writer === undefined || this.over !== undefined) return;
    for (let next = queue.first; next !== undefined && this.untaken + next.size <= WINDOW; next = queue.first) {
      queue.shift();
      this.queued -= next.size;
      this.untaken += next.size;
      writer.write(next.message).catch(() => {});
    }
    if (queue.length > 0) return;
    if (this.ending) this.finish(writer);
    if (!this.drainWanted) return;
    this.drainWanted = false;
    this.handler?.onDrain();
  }

  private finish(writer: WritableStreamDefaultWriter<Uint8Array>): void {
    if (this.finished) return;
    this.finished = true;
    writer.close().catch(() => {});
  }

  private async receive(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (this.over !== undefined) return;
        if (done) {
          this.ended();
          return;
        }
        this.parse(value);
      }
    } catch (error) {
      this.lost(error);
    }
  }

  private parse(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length && this.over === undefined) {
      if (this.remaining > 0) {
        const chunk = bytes.subarray(at, at + this.remaining);
        at += chunk.length;
        this.remaining -= chunk.length;
        this.arrived(chunk);
      } else {
        this.varint[this.varintBytes++] = bytes[at++] as number;
        if (this.varintBytes === varintLengthFromFirstByte(this.varint[0] as number)) {
          this.varintBytes = 0;
          this.onNumber(readVarint(this.varint, 0));
        }
      }
    }
  }

  private onNumber(value: number): void {
    if (this.isAcknowledgement) {
      this.isAcknowledgement = false;
      if (value === 0 || value > this.untaken) throw new ProtocolError("the peer took bytes that were not sent");
      this.untaken -= value;
      this.sendQueued();
    } else if (value === 0) {
      this.isAcknowledgement = true;
    } else {
      this.unacknowledged += value;
      if (this.unacknowledged > WINDOW)
        throw new ProtocolError(`the peer sent more than ${WINDOW} bytes beyond those taken`);
      this.remaining = value;
    }
  }

  private ended(): void {
    if (this.remaining > 0 || this.varintBytes > 0) throw new ProtocolError("the stream ends within a chunk");
    // After the peer has ended its side, it acknowledges nothing, so queued chunks would never be sent.
    this.peerEnded = true;
    this.queue.clear();
    this.queued = 0;
    this.sendQueued();
    this.endHeld = true;
    this.deliver();
  }

  private arrived(chunk: Uint8Array): void {
    const { handler } = this;
    if (handler === undefined || this.paused || this.held.bytes > 0) this.held.push(chunk);
    else this.take(chunk, handler);
  }

  private deliver(): void {
    while (!this.paused && this.handler !== undefined && this.over === undefined) {
      const chunk = this.held.shift();
      if (chunk !== undefined) {
        this.take(chunk, this.handler);
        continue;
      }
      if (!this.endHeld) return;
      this.endHeld = false;
      this.handler.onEnd();
    }
  }

  private take(chunk: Uint8Array, handler: ByteStreamHandler): void {
    this.taken += chunk.length;
    if (this.taken >= ACK_STEP) {
      this.acknowledge(this.taken);
      this.taken = 0;
    }
    handler.onData(chunk);
  }

  private acknowledge(taken: number): void {
    const message = new Uint8Array(1 + varintLength(taken));
    writeVarint(message, 1, taken);
    this.unacknowledged -= taken;
    // After this side has ended, the peer waits for no acknowledgement.
    if (!this.finished) this.writer?.write(message).catch(() => {});
  }
}
