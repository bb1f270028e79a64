import type { ByteBody } from "./body.js";
import { Gathered } from "./gathered.js";

/** Unread bytes of a body above which its sender is paused. */
const MAX_WAITING = 64 * 1024;

/** The source of a body's bytes. */
export interface BodySource {
  /** Pauses the sender. */
  pause(): unknown;
  resume(): unknown;
  /** Drops the rest. */
  drop(reason: unknown): unknown;
}

/**
 * An arriving body as a stream, which is read no faster than it is consumed. Waiting bytes are gathered into one piece:
 * otherwise a sender of single bytes would create an object of a hundred times its size for each.
 */
export class ReceivedBody {
  readonly stream: ByteBody;
  private controller!: ReadableStreamDefaultController<Uint8Array>;
  private readonly source: BodySource;
  private readonly hold: (change: number) => void;
  private readonly waiting: Gathered = new Gathered();
  /** True while a reader waits for bytes. */
  private wanted = false;
  private hasEnded = false;
  private over = false;

  /** @param hold called with the change in the number of waiting bytes; if it throws, the body fails with that error */
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

  /** Called when the body has arrived completely. */
  end(): void {
    this.hasEnded = true;
    if (!this.over && this.waiting.length === 0) this.close();
  }

  /** Fails the reader, even if it has not read all that has arrived. */
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

  /** Releases the waiting bytes. */
  private finish(): void {
    this.over = true;
    const { length } = this.waiting;
    if (length > 0) this.hold(-length);
    this.waiting.take(length);
  }
}
