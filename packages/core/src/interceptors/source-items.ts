import { type ItemSource, itemSource } from "../call/items/send-items.js";

/** Converts the items of a caller or handler, in any permitted form, to an async iterable. */
export class SourceItems implements AsyncIterable<unknown> {
  private readonly items: unknown;
  private source: ItemSource | undefined = undefined;
  private stopped = false;

  constructor(items: unknown) {
    this.items = items;
  }

  /** Throws `TypeError` if the value cannot be streamed. */
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

  /** Stops the producer. */
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
