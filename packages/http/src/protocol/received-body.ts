import type { ByteBody } from "./body.js";
import { Gathered } from "./gathered.js";

/** Number of unread bytes of a body above which its sender is paused. */
const MAX_WAITING = 64 * 1024;

export interface BodySource {
  pause(): unknown;
  resume(): unknown;
  /** Tells the source that no further bytes are needed. */
  drop(reason: unknown): unknown;
}

/**
 * A request or response body that arrives in pieces, as a stream. Its source is paused while too many bytes are unread.
 * Unread pieces are joined, because a sender of single bytes would otherwise create one large object for each byte.
 */
export class ReceivedBody {
  readonly stream: ByteBody;
  private controller!: ReadableStreamDefaultController<Uint8Array>;
  private readonly source: BodySource;
  private readonly hold: (change: number) => void;
  private readonly waiting: Gathered = new Gathered();
  private wanted = false;
  private hasEnded = false;
  private over = false;

  /** @param hold called with the change in the number of unread bytes; if it throws, the body fails with that error */
  constructor(source: BodySource, hold: (change: number) => void = () => {}) {
    this.source = source;
    this.hold = hold;
    const given: UnderlyingDefaultSource<Uint8Array> = {
      start: (controller) => void (this.controller = controller),
      pull: () => this.pull(),
      cancel: (reason) => {
        this.finish();
        source.drop(reason);
      },
    };
    this.stream = new ReadableStream(given, { highWaterMark: 0 });
  }

  push(piece: Uint8Array): void {
    if (this.over || piece.length === 0) return;
    if (this.wanted) {
      this.wanted = false;
      this.controller.enqueue(piece);
      return;
    }
    this.waiting.append(piece);
    try {
      this.hold(piece.length);
    } catch (error) {
      this.fail(error);
      this.source.drop(error);
      return;
    }
    if (this.waiting.length >= MAX_WAITING) this.source.pause();
  }

  end(): void {
    this.hasEnded = true;
    if (!this.over && this.waiting.length === 0) this.close();
  }

  /** Ends the body with an error, even if unread bytes remain. */
  fail(error: unknown): void {
    if (this.over || this.hasEnded) return;
    this.finish();
    this.controller.error(error);
  }

  private pull(): void {
    const bytes = this.waiting.take(this.waiting.length);
    if (bytes.length === 0) this.wanted = true;
    else {
      this.hold(-bytes.length);
      this.controller.enqueue(bytes);
      if (this.hasEnded) this.close();
    }
    if (!this.over) this.source.resume();
  }

  private close(): void {
    this.over = true;
    this.controller.close();
  }

  private finish(): void {
    this.over = true;
    const { length } = this.waiting;
    if (length > 0) this.hold(-length);
    this.waiting.take(length);
  }
}
