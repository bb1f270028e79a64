import { deferred, type Deferred } from "../deferred.js";
import type { WebTransportStream } from "./session.js";

/** Streams that are being made at once; more wait here. A browser makes pipes for each, and fails when it runs out of them. */
const MAX_CREATING = 32;
/** Milliseconds until a stream that the peer's limit did not allow is tried again, at first and at most: nothing tells when. */
const RETRY_MS = 4;
const MAX_RETRY_MS = 100;

/** A stream that was asked for. */
export interface WantedStream extends Deferred<WebTransportStream> {
  readonly order: number;
  /** It need not be made any more, and then its promise stays as it is. */
  dropped: boolean;
}

/**
 * Makes the streams of a W3C session in the order in which they are asked for. Those that the peer's limit does not allow
 * wait; then one is tried at a time.
 */
export class StreamMaker {
  private readonly create: () => Promise<WebTransportStream>;
  private wanted: WantedStream[] = [];
  private count = 0;
  private creating = 0;
  private mayCreate = MAX_CREATING;
  private delay = RETRY_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private ended = false;

  constructor(create: () => Promise<WebTransportStream>) {
    this.create = create;
  }

  make(): WantedStream {
    const wanted = { ...deferred<WebTransportStream>(), order: this.count++, dropped: false };
    this.wanted.push(wanted);
    this.start();
    return wanted;
  }

  /** The session has ended: what waits is not made. */
  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
    for (const { reject } of this.wanted.splice(0)) reject(new Error("the session has ended"));
  }

  private start(): void {
    while (this.creating < this.mayCreate) {
      const next = this.wanted.shift();
      if (next === undefined) return;
      if (next.dropped) continue;
      this.creating++;
      void this.attempt(next);
    }
  }

  private async attempt(wanted: WantedStream): Promise<void> {
    try {
      wanted.resolve(await this.create());
      if (this.timer === undefined) this.mayCreate = MAX_CREATING;
      this.delay = RETRY_MS;
    } catch (error) {
      if (this.ended || !isExhausted(error)) wanted.reject(error);
      else this.putBack(wanted);
    }
    this.creating--;
    this.start();
  }

  private putBack(wanted: WantedStream): void {
    const later = this.wanted.findIndex(({ order }) => order > wanted.order);
    this.wanted.splice(later < 0 ? this.wanted.length : later, 0, wanted);
    this.mayCreate = 0;
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.mayCreate = 1;
      this.start();
    }, this.delay);
    this.delay = Math.min(2 * this.delay, MAX_RETRY_MS);
  }
}

/** Whether a stream was not made since the peer's limit is reached: such fail at once (W3C WebTransport §6.4), and not by one name. */
function isExhausted(error: unknown): boolean {
  const name = error instanceof Error ? error.name : "";
  return name === "QuotaExceededError" || name === "NetworkError" || name === "OperationError";
}
