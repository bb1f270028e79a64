import type { ByteBody } from "./body.js";
import { Gathered } from "./gathered.js";

/** Bytes that wait for the reader of a body before its sender is held back. */
const MAX_WAITING = 64 * 1024;

/** Where the bytes of a body come from. */
export interface BodySource {
  /** Holds the sender back. */
  pause(): unknown;
  resume(): unknown;
  /** Nobody wants the rest. */
  drop(reason: unknown): unknown;
}

/**
 * A body that arrives, as a stream which is read no faster than it is taken. What waits is gathered, and handed over as one piece: a sender of
 * single bytes would have each kept as an object, of a hundred times its size.
 */
export class ReceivedBody {
  readonly stream: ByteBody;
  private controller!: ReadableStreamDefaultController<Uint8Array>;
  private readonly source: BodySource;
  private readonly hold: (change: number) => void;
  private readonly waiting: Gathered = new Gathered();
  /** A reader waits for bytes. */
  private wanted = false;
  private hasEnded = false;
  private over = false;

  /** @param hold receives by how many bytes more, or fewer, wait; what it throws is what the body fails with */
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

  /** All of it has arrived. */
  end(): void {
    this.hasEnded = true;
    if (!this.over && this.waiting.length === 0) this.close();
  }

  /** Fails the reader, also where it has not taken all that has arrived. */
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

  /** Releases what waits. */
  private finish(): void {
    this.over = true;
    const { length } = this.waiting;
    if (length > 0) this.hold(-length);
    this.waiting.take(length);
  }
}
