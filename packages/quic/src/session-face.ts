import type { QuicError } from "./errors.js";
import { MAX_UNCLAIMED_STREAMS } from "./limits.js";
import type { CloseInfo, QuicSession, SessionHandler } from "./session.js";
import type { QuicStream } from "./stream.js";

/** The promises and the stream of streams that W3C WebTransport §6 adds to a session. */
export class SessionFace {
  readonly closed: Promise<CloseInfo>;
  readonly #session: QuicSession;
  #incoming: ReadableStream<QuicStream> | undefined;
  #resolve!: (info: CloseInfo) => void;
  #reject!: (error: Error) => void;

  constructor(session: QuicSession) {
    this.#session = session;
    this.closed = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // As in browsers: nobody is obliged to watch `closed`.
    this.closed.catch(() => {});
  }

  get incoming(): ReadableStream<QuicStream> {
    this.#incoming ??= incomingStreams(this.#session);
    return this.#incoming;
  }

  settle(info: CloseInfo, error: QuicError | undefined): void {
    if (error === undefined || error.closeCode !== undefined) this.#resolve(info);
    else this.#reject(error);
  }
}

/**
 * Streams wait here unread. The peer's stream limit does not bound how many: a stream that the peer has both reset and
 * stopped counts no longer. After a cancel nobody takes streams any more.
 */
function incomingStreams(session: QuicSession): ReadableStream<QuicStream> {
  let open = true;
  return new ReadableStream<QuicStream>({
    cancel() {
      open = false;
    },
    start(controller) {
      const handler: SessionHandler = {
        onStream(stream) {
          if (open && (controller.desiredSize ?? 0) > -MAX_UNCLAIMED_STREAMS) controller.enqueue(stream);
          else stream.refuse();
        },
        onClosed(_info, error) {
          if (!open) return;
          open = false;
          if (error === undefined) controller.close();
          else controller.error(error);
        },
      };
      session.attach(handler);
    },
  });
}
