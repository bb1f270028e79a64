import { deferred } from "../deferred.js";
import { RpcError } from "../errors.js";

/** Turns what is written to a stream into an async iterable. A write waits until its item is taken. */
export class WritableItems implements AsyncIterable<unknown> {
  readonly writable: WritableStream<unknown>;
  private controller!: WritableStreamDefaultController;
  private written: { item: unknown; onTaken: () => void } | undefined;
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
        const { promise, resolve } = deferred<void>();
        this.written = { item, onTaken: () => resolve() };
        this.wake?.();
        return promise;
      },
      close: () => {
        this.ended = true;
        this.wake?.();
      },
    });
  }

  /** The call is over: writes fail from now on. */
  end(error: RpcError): void {
    this.leave();
    this.controller.error(error);
  }

  [Symbol.asyncIterator](): AsyncIterator<unknown> {
    return {
      next: async () => {
        while (this.written === undefined && !this.ended) {
          await new Promise<void>((resolve) => {
            this.wake = resolve;
          });
        }
        const { written } = this;
        this.written = undefined;
        written?.onTaken();
        return written === undefined ? { done: true, value: undefined } : { done: false, value: written.item };
      },
      return: async () => {
        this.leave();
        return { done: true, value: undefined };
      },
    };
  }

  private leave(): void {
    this.ended = true;
    this.written?.onTaken();
    this.written = undefined;
    this.wake?.();
  }
}
