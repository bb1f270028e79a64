import { QuicError, resetError, stopSendingError } from "./errors.js";
import type { QuicStream, StreamHandler } from "./stream.js";

/** Number of bytes that the readable side stores before the stream is paused. */
const READ_HIGH_WATER = 64 * 1024;

/** The two WHATWG streams of a QUIC stream (W3C WebTransport §7 and §8). */
export class StreamWebApi implements StreamHandler {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  readonly #stream: QuicStream;
  #reader: ReadableByteStreamController | undefined;
  #writer: WritableStreamDefaultController | undefined;
  #drained: (() => void) | undefined;

  constructor(stream: QuicStream) {
    this.#stream = stream;
    this.readable = new ReadableStream<Uint8Array>(
      {
        type: "bytes",
        start: (controller) => {
          this.#reader = controller as ReadableByteStreamController;
        },
        pull: () => stream.resume(),
        cancel: (reason) => {
          this.#reader = undefined;
          stream.stopSending(errorCode(reason));
        },
      },
      { highWaterMark: READ_HIGH_WATER },
    );
    this.writable = new WritableStream<Uint8Array>({
      start: (controller) => {
        this.#writer = controller;
        // Reads the signal at once, because `abort` below is called only after a write in progress, which may wait
        // forever for a peer that no longer reads.
        const { signal } = controller;
        signal.addEventListener("abort", () => this.#abort(signal.reason), { once: true });
      },
      write: (chunk) => this.#write(chunk),
      close: () => {
        this.#writer = undefined;
        stream.write(new Uint8Array(0), true);
      },
      abort: (reason) => this.#abort(reason),
    });
    stream.attach(this);
  }

  #write(chunk: unknown): Promise<void> | undefined {
    const bytes = toBytes(chunk);
    if (this.#stream.write(bytes)) return undefined;
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  #abort(reason: unknown): void {
    this.#writer = undefined;
    this.#stream.reset(errorCode(reason));
    this.#release();
  }

  #release(): void {
    this.#drained?.();
    this.#drained = undefined;
  }

  onData(chunk: Uint8Array): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    // A byte stream transfers the buffer of each enqueued chunk, which would detach other chunks of the same buffer.
    reader.enqueue(chunk.slice());
    if ((reader.desiredSize ?? 0) <= 0) this.#stream.pause();
  }

  onEnd(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.close();
    // The stream closes only after a pending BYOB read has been answered.
    reader?.byobRequest?.respond(0);
  }

  onReset(code: number): void {
    this.#failReading(resetError(code));
  }

  onStopSending(code: number): void {
    this.#failWriting(stopSendingError(code));
  }

  onDrain(): void {
    this.#release();
  }

  onClosed(error: Error | undefined): void {
    const reason =
      error ?? new QuicError({ source: "session", code: "ERR_QUIC_CLOSED", message: "the session was closed" });
    this.#failReading(reason);
    this.#failWriting(reason);
  }

  #failReading(error: Error): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.error(error);
  }

  #failWriting(error: Error): void {
    const writer = this.#writer;
    this.#writer = undefined;
    writer?.error(error);
    this.#release();
  }
}

function toBytes(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  throw new TypeError("a QUIC stream only accepts ArrayBuffer and its views");
}

/**
 * Returns the error code to send for the reason of a cancel or abort: the reason's `streamErrorCode`, or 0 if it has
 * none.
 */
function errorCode(reason: unknown): number {
  const code = (reason as { streamErrorCode?: unknown } | null | undefined)?.streamErrorCode;
  return typeof code === "number" && code >= 0 && code <= 0xffff_ffff ? Math.trunc(code) : 0;
}
