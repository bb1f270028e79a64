import { type ItemSource, itemSource } from "../call/items/item-source.js";

/** Turns what a caller or handler streams into an async iterable, whichever form it was given in. */
export class SourceItems implements AsyncIterable<unknown> {
  private readonly given: unknown;
  private source: ItemSource | undefined = undefined;

  constructor(given: unknown) {
    this.given = given;
  }

  /** Throws `TypeError` for what cannot be streamed. */
  [Symbol.asyncIterator](): AsyncIterator<unknown> {
    const source = this.open();
    return {
      next: async () => source.next(),
      return: async () => {
        await source.stop();
        return { done: true, value: undefined };
      },
    };
  }

  /** Tells the producer that nobody listens. */
  stop(): void {
    try {
      void this.open().stop();
    } catch {
      // It is no source: the call's error says enough.
    }
  }

  private open(): ItemSource {
    this.source ??= itemSource(this.given);
    return this.source;
  }
}
