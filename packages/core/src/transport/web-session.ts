import { asError } from "../errors.js";
import { closeError } from "./close-codes.js";
import type {
  CloseInfo,
  Datagrams,
  DirectSession,
  DirectSessionHandler,
  DirectStream,
  DirectStreamHandler,
  TransportSession,
  WebTransportSession,
  WebTransportStream,
} from "./session.js";
import { streamError, withCode } from "./stream-errors.js";
import { type StreamMaker, streamMaker, type WantedStream } from "./stream-maker.js";
import { readDatagrams, webDatagrams } from "./web-datagrams.js";

/** The direct interface of any session: its own, or one laid over its WHATWG streams. */
export function directSession(session: TransportSession): DirectSession {
  return "openStream" in session ? session : new WebSession(session);
}

const EMPTY = new Uint8Array(0);

/** Bytes written to a stream that is being created above which `write` returns false. */
const EARLY_HIGH_WATER = 64 * 1024;

class WebSession implements DirectSession {
  private readonly session: WebTransportSession;
  readonly datagrams: Datagrams | undefined;
  private readonly streams: Set<WebStream> = new Set();
  private readonly maker: StreamMaker;

  constructor(session: WebTransportSession) {
    this.session = session;
    this.maker = streamMaker(() => session.createBidirectionalStream());
    this.datagrams = webDatagrams(session.datagrams);
  }

  attach(handler: DirectSessionHandler): void {
    // Taken at once: where the application reads the streams already, this throws.
    const reader = this.session.incomingBidirectionalStreams.getReader();
    void this.acceptStreams(reader, handler);
    const { datagrams } = this.session;
    const { onDatagram } = handler;
    if (datagrams !== undefined && onDatagram !== undefined) void readDatagrams(datagrams, onDatagram);
    this.session.closed.then(
      (info) => this.end(handler, info ?? {}, closeError(info ?? {})),
      (error: unknown) => this.end(handler, {}, asError(error)),
    );
    // A failed `ready` fails `closed` as well; it must not surface as an unhandled rejection.
    this.session.ready.catch(() => {});
  }

  openStream(): DirectStream {
    const wanted = this.maker.make();
    const stream = new WebStream(wanted.promise, (done) => this.streams.delete(done), wanted);
    this.streams.add(stream);
    return stream;
  }

  close(info?: CloseInfo): void {
    this.session.close(info);
  }

  private async acceptStreams(
    reader: ReadableStreamDefaultReader<WebTransportStream>,
    handler: DirectSessionHandler,
  ): Promise<void> {
    for (;;) {
      // A rejection means that the session has ended: `closed` says how.
      const next = await reader.read().catch(() => undefined);
      if (next?.value === undefined) return;
      const stream = new WebStream(Promise.resolve(next.value), (over) => this.streams.delete(over));
      this.streams.add(stream);
      handler.onStream(stream);
    }
  }

  private end(handler: DirectSessionHandler, info: CloseInfo, error: Error | undefined): void {
    for (const stream of this.streams) stream.sessionClosed(error);
    this.streams.clear();
    this.maker.end();
    handler.onClosed(info, error);
  }
}

/** A `WebTransportSendStream` (W3C WebTransport §8), where the platform's streams are such. */
type Prioritized = WritableStream<Uint8Array> & { sendOrder?: number };

/** One WHATWG stream pair behind the direct interface. */
class WebStream implements DirectStream {
  private readonly opened: Promise<WebTransportStream>;
  private readonly onDone: (stream: WebStream) => void;
  private readonly wanted: WantedStream | undefined;
  private handler: DirectStreamHandler | undefined;
  private writer: WritableStreamDefaultWriter<Uint8Array> | undefined;
  private reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** Written before the stream was open. */
  private early: { bytes: Uint8Array; end: boolean }[] = [];
  private pending = 0;
  private sending = true;
  private receiving = true;
  private over = false;
  private drainAwaited = false;
  private resumed: (() => void) | undefined;
  private paused = false;
  private resetCode: number | undefined;
  private stopCode: number | undefined;
  private priority: number | undefined;
  private sink: Prioritized | undefined;

  constructor(opened: Promise<WebTransportStream>, onDone: (stream: WebStream) => void, wanted?: WantedStream) {
    this.opened = opened;
    this.onDone = onDone;
    this.wanted = wanted;
    opened.then(
      (stream) => this.open(stream),
      (error: unknown) => {
        onDone(this);
        this.sessionClosed(asError(error));
      },
    );
  }

  attach(handler: DirectStreamHandler): void {
    this.handler = handler;
    this.opened.then(
      () => this.receive(handler),
      () => {},
    );
  }

  write(bytes: Uint8Array, end = false): boolean {
    if (!this.sending) return true;
    if (end) this.sending = false;
    const copy = bytes.length === 0 ? EMPTY : bytes.slice();
    if (this.writer === undefined) {
      this.early.push({ bytes: copy, end });
      this.pending += copy.length;
      this.drainAwaited = this.pending > EARLY_HIGH_WATER;
      return !this.drainAwaited;
    }
    this.pending += copy.length;
    this.send(this.writer, copy, end);
    return this.writableNow(this.writer);
  }

  pendingBytes(): number {
    return this.pending;
  }

  reset(code: number): void {
    // After a FIN a reset does nothing: the bytes before the FIN are still to be sent.
    if (!this.sending && this.writer !== undefined) return;
    this.sending = false;
    this.resetCode = code;
    this.early = [];
    this.writer?.abort(streamError(code)).catch(() => {});
    this.doneIfBoth();
  }

  stopSending(code: number): void {
    this.receiving = false;
    this.stopCode = code;
    this.reader?.cancel(streamError(code)).catch(() => {});
    this.resumed?.();
    this.doneIfBoth();
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.resumed?.();
    this.resumed = undefined;
  }

  setPriority(priority: number): void {
    this.priority = priority;
    if (this.sink !== undefined && "sendOrder" in this.sink) this.sink.sendOrder = priority;
  }

  sessionClosed(error: Error | undefined): void {
    if (this.over) return;
    this.over = true;
    this.sending = false;
    this.receiving = false;
    this.resumed?.();
    this.handler?.onClosed(error);
  }

  private open(stream: WebTransportStream): void {
    const writer = stream.writable.getWriter();
    this.writer = writer;
    this.sink = stream.writable;
    if (this.priority !== undefined) this.setPriority(this.priority);
    this.reader = stream.readable.getReader();
    writer.closed.then(
      () => {},
      (error: unknown) => this.sendingFailed(error),
    );
    // `ready` is replaced when it rejects; each must have a handler.
    writer.ready.catch(() => {});
    if (this.stopCode !== undefined) this.reader.cancel(streamError(this.stopCode)).catch(() => {});
    if (this.resetCode !== undefined) writer.abort(streamError(this.resetCode)).catch(() => {});
    const { early } = this;
    this.early = [];
    for (const { bytes, end } of early) this.send(writer, bytes, end);
    if (this.drainAwaited) this.tellWhenReady(writer);
  }

  private send(writer: WritableStreamDefaultWriter<Uint8Array>, bytes: Uint8Array, end: boolean): void {
    const sent = (): void => void (this.pending -= bytes.length);
    if (bytes.length > 0) writer.write(bytes).then(sent, sent);
    if (end) {
      writer.close().catch(() => {});
      this.doneIfBoth();
    }
  }

  private writableNow(writer: WritableStreamDefaultWriter<Uint8Array>): boolean {
    if (!this.sending || (writer.desiredSize ?? 1) > 0) return true;
    if (!this.drainAwaited) {
      this.drainAwaited = true;
      this.tellWhenReady(writer);
    }
    return false;
  }

  private tellWhenReady(writer: WritableStreamDefaultWriter<Uint8Array>): void {
    writer.ready.then(
      () => {
        this.drainAwaited = false;
        if (!this.over) this.handler?.onDrain();
      },
      () => {},
    );
  }

  private sendingFailed(error: unknown): void {
    withCode(error, (code) => {
      if (this.over || this.resetCode !== undefined) return;
      this.sending = false;
      this.handler?.onStopSending(code);
      this.doneIfBoth();
    });
  }

  private async receive(handler: DirectStreamHandler): Promise<void> {
    const reader = this.reader as ReadableStreamDefaultReader<Uint8Array>;
    for (;;) {
      const next = await reader.read().catch((error: unknown) => ({ error }));
      while (this.paused && this.receiving) await new Promise<void>((resolve) => (this.resumed = resolve));
      if (!this.receiving) return;
      if ("error" in next) {
        withCode(next.error, (code) => this.ended(() => handler.onReset(code)));
        return;
      }
      if (next.done) {
        this.ended(() => handler.onEnd());
        return;
      }
      handler.onData(next.value);
    }
  }

  /** The receiving side is over; `tell` says how, unless the stream is. */
  private ended(tell: () => void): void {
    if (!this.receiving || this.over) return;
    this.receiving = false;
    tell();
    this.doneIfBoth();
  }

  private doneIfBoth(): void {
    if (this.sending || this.receiving || this.over) return;
    this.over = true;
    // Given up before it was made. Chromium ends a connection that has a thousand resets under way.
    if (this.wanted !== undefined && this.resetCode !== undefined && this.stopCode !== undefined)
      this.wanted.dropped = true;
    this.onDone(this);
  }
}
