import { type Deferred, deferred } from "../deferred.js";
import { RpcError } from "../errors.js";
import { type ItemSource, itemSource } from "../call/items/send-items.js";

/** A written item whose write is still pending. */
interface Written {
  readonly item: unknown;
  readonly passed: Deferred<void>;
  taken: boolean;
}

/**
 * Converts the writes to a `WritableStream` to an async iterable. A write stays pending until the consumer requests the
 * next item or stops, or the call responds.
 */
export class WritableItems implements AsyncIterable<unknown> {
  readonly writable: WritableStream<unknown>;
  private controller!: WritableStreamDefaultController;
  private written: Written | undefined = undefined;
  private ended = false;
  private wake: (() => void) | undefined = undefined;

  /** @param onAborted called with the error if the writer aborts the stream */
  constructor(onAborted: (error: RpcError) => void) {
    this.writable = new WritableStream<unknown>({
      start: (controller) => {
        this.controller = controller;
        const { signal } = controller;
        // In a microtask, because Node does not allow a stream to fail while its abort signal is firing.
        const abort = (): void => {
          this.leave();
          onAborted(RpcError.from(signal.reason, "cancelled"));
        };
        signal.addEventListener("abort", () => queueMicrotask(abort));
      },
      write: (item) => {
        // The consumer has stopped, so the item is dropped.
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

  passedOn(): void {
    if (this.written?.taken === true) this.settle();
  }

  refuse(error: unknown): void {
    this.written?.passed.reject(error);
    this.written = undefined;
  }

  /** Ends the iterable. Later writes fail with `error`. */
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

/** Converts a stream source (iterable or `ReadableStream`) of a caller or handler to an async iterable. */
export class SourceItems implements AsyncIterable<unknown> {
  private readonly items: unknown;
  private source: ItemSource | undefined = undefined;
  private stopped = false;

  constructor(items: unknown) {
    this.items = items;
  }

  /** Throws `TypeError` if the value is not a stream source. */
  [Symbol.asyncIterator](): AsyncIterator<unknown> {
    const source = this.open();
    return {
      next: async () => source.next(),
      return: async () => {
        await this.stopOnce(source);
        return { done: true, value: undefined };
      },
    };
  }

  stop(): void {
    try {
      void this.stopOnce(this.open());
    } catch {
      // Not a valid source: the call's own error already reports it.
    }
  }

  private stopOnce(source: ItemSource): Promise<void> | undefined {
    if (this.stopped) return undefined;
    this.stopped = true;
    return source.stop();
  }

  private open(): ItemSource {
    this.source ??= itemSource(this.items);
    return this.source;
  }
}
