import { Fifo } from "../fifo.js";
import { codeNumber } from "../codes.js";
import type { DirectStream, DirectStreamHandler } from "./session.js";

/**
 * Takes over a stream of another protocol. `first` contains the bytes that were already read. Later data goes to the
 * returned handler.
 */
export type ForeignStreams = (stream: DirectStream, first: Uint8Array) => DirectStreamHandler;

/**
 * Passes streams of other protocols to `take`. If it throws, the stream is refused and `report` receives the exception.
 */
export function foreignStreams(
  take: (stream: DirectStream) => void,
  report: (thrown: unknown) => void,
): ForeignStreams {
  return (stream, first) => {
    const foreign = new ForeignStream(stream, first);
    try {
      take(foreign);
    } catch (thrown) {
      foreign.stopSending(codeNumber("internal"));
      foreign.reset(codeNumber("internal"));
      report(thrown);
    }
    return foreign;
  };
}

/** A stream event that is delivered when the application attaches its handler. */
type Held = (handler: DirectStreamHandler) => void;

/**
 * A stream of another protocol whose first bytes this library has read to identify it. It passes all bytes, including
 * those, to the application.
 */
class ForeignStream implements DirectStream, DirectStreamHandler {
  private readonly stream: DirectStream;
  private held: Fifo<Held> | undefined = new Fifo();
  private handler: DirectStreamHandler | undefined = undefined;
  private paused = false;

  /** @param first bytes that this library has already read from the stream */
  constructor(stream: DirectStream, first: Uint8Array) {
    this.stream = stream;
    if (first.length > 0) this.held?.push((handler) => handler.onData(first));
    stream.pause();
  }

  attach(handler: DirectStreamHandler): void {
    if (this.handler !== undefined) throw new Error("the stream already has a handler");
    this.handler = handler;
    queueMicrotask(() => this.deliver());
  }

  write(bytes: Uint8Array, end?: boolean): boolean {
    return this.stream.write(bytes, end);
  }

  pendingBytes(): number {
    return this.stream.pendingBytes();
  }

  reset(code: number): void {
    this.stream.reset(code);
  }

  stopSending(code: number): void {
    this.held = undefined;
    this.stream.stopSending(code);
  }

  pause(): void {
    this.paused = true;
    this.stream.pause();
  }

  resume(): void {
    this.paused = false;
    if (this.held === undefined) this.stream.resume();
    else if (this.handler !== undefined) this.deliver();
  }

  onData(chunk: Uint8Array): void {
    this.tell((handler) => handler.onData(chunk));
  }

  onEnd(): void {
    this.tell((handler) => handler.onEnd());
  }

  onReset(code: number): void {
    this.tell((handler) => handler.onReset(code));
  }

  onStopSending(code: number): void {
    this.tell((handler) => handler.onStopSending(code));
  }

  onDrain(): void {
    this.tell((handler) => handler.onDrain());
  }

  onClosed(error: Error | undefined): void {
    this.tell((handler) => handler.onClosed(error));
  }

  private tell(event: Held): void {
    if (this.held !== undefined) this.held.push(event);
    else if (this.handler !== undefined) event(this.handler);
  }

  private deliver(): void {
    const { handler } = this;
    if (handler === undefined) return;
    while (this.held !== undefined && !this.paused) {
      const event = this.held.shift();
      if (event === undefined) this.held = undefined;
      else event(handler);
    }
    if (!this.paused) this.stream.resume();
  }
}
