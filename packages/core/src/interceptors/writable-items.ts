import { type Deferred, deferred } from "../deferred.js";
import { RpcError } from "../errors.js";

/** One item of a writer, and its write, which waits. */
interface Written {
  readonly item: unknown;
  readonly passed: Deferred<void>;
  taken: boolean;
}

/**
 * Turns what is written to a stream into an async iterable. A write waits until its item has been passed on: its consumer asks for
 * the next or leaves, or the call answers.
 */
export class WritableItems implements AsyncIterable<unknown> {
  readonly writable: WritableStream<unknown>;
  private controller!: WritableStreamDefaultController;
  private written: Written | undefined = undefined;
  private ended = false;
  private wake: (() => void) | undefined = undefined;

  /** @param onAborted called when the writer aborts */
  constructor(onAborted: (error: RpcError) => void) {
    this.writable = new WritableStream<unknown>({
      start: (controller) => {
        this.controller = controller;
        const { signal } = controller;
        // In a microtask, since Node does not bear a stream that fails while its signal fires.
        const abort = (): void => {
          this.leave();
          onAborted(RpcError.from(signal.reason, "cancelled"));
        };
        signal.addEventListener("abort", () => queueMicrotask(abort));
      },
      write: (item) => {
        // Nobody wants more.
        if (this.ended) return undefined;
        const passed = deferred<void>();
        this.written = { item, passed, taken: false };
        this.wake?.();
        return passed.promise;
      },
      close: () => {
        this.ended = true;
        this.wake?.();
      },
    });
  }

  /** Settles the write of the item that was taken: it has been passed on, and the next may be written. */
  passedOn(): void {
    if (this.written?.taken === true) this.settle();
  }

  /** Rejects the write of the item that was taken: it could not be sent. */
  refuse(error: unknown): void {
    this.written?.passed.reject(error);
    this.written = undefined;
  }

  /** The call is over: writes fail from now on. */
  end(error: RpcError): void {
    this.leave();
    this.controller.error(error);
  }

  [Symbol.asyncIterator](): AsyncIterator<unknown> {
    return {
      next: async () => {
        this.passedOn();
        while (this.written === undefined && !this.ended) {
          await new Promise<void>((resolve) => {
            this.wake = resolve;
          });
        }
        const { written } = this;
        if (written === undefined) return { done: true, value: undefined };
        written.taken = true;
        return { done: false, value: written.item };
      },
      return: async () => {
        this.leave();
        return { done: true, value: undefined };
      },
    };
  }

  private leave(): void {
    this.ended = true;
    this.settle();
    this.wake?.();
  }

  private settle(): void {
    this.written?.passed.resolve();
    this.written = undefined;
  }
}
