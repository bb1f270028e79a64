import { asError } from "../errors.js";
import {
  byteStreamTransport,
  type ByteStream,
  type ByteStreamHandler,
  type ByteStreamOptions,
  type Role,
} from "./byte-stream.js";
import type { DirectSession, WebTransportStream } from "./session.js";

/**
 * Creates a transport over a pair of WHATWG byte streams, for example those of a WebTransport stream or of a serial
 * port.
 */
export function webStreamTransport(
  streams: WebTransportStream,
  role: Role,
  options?: ByteStreamOptions,
): DirectSession {
  return byteStreamTransport(new WebByteStream(streams), role, options);
}

class WebByteStream implements ByteStream {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  #handler: ByteStreamHandler | undefined = undefined;
  #paused: { readonly until: Promise<void>; resume(): void } | undefined = undefined;
  #drainAwaited = false;
  #pending = 0;
  #over = false;

  constructor({ readable, writable }: WebTransportStream) {
    this.#reader = readable.getReader();
    this.#writer = writable.getWriter();
    this.#writer.ready.catch(() => {});
    this.#writer.closed.catch((error: unknown) => this.#closed(error));
  }

  attach(handler: ByteStreamHandler): void {
    this.#handler = handler;
    void this.#receive(handler);
  }

  write(bytes: Uint8Array): boolean {
    if (this.#over) return true;
    const { length } = bytes;
    const sent = (): void => void (this.#pending -= length);
    this.#pending += length;
    this.#writer.write(bytes.slice()).then(sent, sent);
    if ((this.#writer.desiredSize ?? 1) > 0) return true;
    this.#awaitDrain();
    return false;
  }

  pendingBytes(): number {
    return this.#pending;
  }

  end(): void {
    this.#writer.close().catch(() => {});
  }

  destroy(): void {
    if (this.#over) return;
    this.#over = true;
    this.resume();
    this.#reader.cancel().catch(() => {});
    this.#writer.abort().catch(() => {});
  }

  pause(): void {
    if (this.#paused !== undefined) return;
    let resume!: () => void;
    const until = new Promise<void>((resolve) => {
      resume = resolve;
    });
    this.#paused = { until, resume };
  }

  resume(): void {
    const paused = this.#paused;
    this.#paused = undefined;
    paused?.resume();
  }

  #awaitDrain(): void {
    if (this.#drainAwaited) return;
    this.#drainAwaited = true;
    this.#writer.ready.then(
      () => {
        this.#drainAwaited = false;
        if (!this.#over) this.#handler?.onDrain();
      },
      () => {},
    );
  }

  async #receive(handler: ByteStreamHandler): Promise<void> {
    for (;;) {
      const next = await this.#reader.read().catch((error: unknown) => ({ error }));
      while (this.#paused !== undefined) await this.#paused.until;
      if (this.#over) return;
      if ("error" in next) {
        this.#closed(next.error);
        return;
      }
      if (next.done) {
        handler.onEnd();
        return;
      }
      handler.onData(next.value);
    }
  }

  #closed(error: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#handler?.onClosed(asError(error));
  }
}
