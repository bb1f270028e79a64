import { DeferredPromise } from "./deferred.js";
import type { QuicError } from "./errors.js";
import { MAX_UNCLAIMED_STREAMS } from "./limits.js";
import type { QuicSession } from "./session.js";
import type { CloseInfo } from "./session-handler.js";
import type { QuicStream } from "./stream.js";

interface BidirectionalParts {
  readonly bidirectional: Incoming<QuicStream>;
  readonly unidirectional: Incoming<ReadableStream<Uint8Array>>;
}

/**
 * Members of W3C `WebTransport` for a session (W3C WebTransport §6): promises, and streams of the streams that the peer
 * opens.
 */
export class SessionWebApi {
  readonly #closed = new DeferredPromise<CloseInfo>();
  readonly #session: QuicSession;
  #incoming: BidirectionalParts | undefined;

  constructor(session: QuicSession) {
    this.#session = session;
  }

  /**
   * Resolves when the session has been closed, and rejects when it is lost. As in browsers, a rejection that nothing
   * handles is ignored.
   */
  get closed(): Promise<CloseInfo> {
    return this.#closed.promise;
  }

  get bidirectional(): ReadableStream<QuicStream> {
    return this.#accept().bidirectional.streams;
  }

  get unidirectional(): ReadableStream<ReadableStream<Uint8Array>> {
    return this.#accept().unidirectional.streams;
  }

  settle(info: CloseInfo, error: QuicError | undefined): void {
    if (error === undefined || error.closeCode !== undefined) this.#closed.resolve(info);
    else this.#closed.reject(error);
  }

  /**
   * Starts to accept both kinds of streams. This happens at the first use of either kind, because a session has only
   * one handler.
   */
  #accept(): BidirectionalParts {
    if (this.#incoming === undefined) {
      const bidirectional = new Incoming<QuicStream>();
      const unidirectional = new Incoming<ReadableStream<Uint8Array>>();
      this.#session.attach({
        onStream: (stream) => void (bidirectional.offer(stream) || stream.refuse()),
        onUniStream: (stream) => void (unidirectional.offer(stream.readable) || stream.refuse()),
        onClosed: (_info, error) => {
          bidirectional.end(error);
          unidirectional.end(error);
        },
      });
      this.#incoming = { bidirectional, unidirectional };
    }
    return this.#incoming;
  }
}

/**
 * Queue of streams that the peer has opened and the application has not read. Its length has its own limit, because the
 * peer's stream limit does not count streams that the peer has already reset and stopped. After `cancel`, no streams
 * are accepted.
 */
class Incoming<T> {
  readonly streams: ReadableStream<T>;
  #controller: ReadableStreamDefaultController<T> | undefined;

  constructor() {
    this.streams = new ReadableStream<T>({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => {
        this.#controller = undefined;
      },
    });
  }

  /** Adds a stream to the queue. Returns false if the queue is full or cancelled. */
  offer(stream: T): boolean {
    if (this.#controller === undefined || (this.#controller.desiredSize ?? 0) <= -MAX_UNCLAIMED_STREAMS) return false;
    this.#controller.enqueue(stream);
    return true;
  }

  end(error: Error | undefined): void {
    if (error === undefined) this.#controller?.close();
    else this.#controller?.error(error);
    this.#controller = undefined;
  }
}
