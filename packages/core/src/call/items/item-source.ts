/** A source that a handler or caller may stream from. */
export type StreamSource<Item> = AsyncIterable<Item> | Iterable<Item> | ReadableStream<Item>;

/** A source of items, in any permitted form. */
export interface ItemSource {
  next(): PromiseLike<IteratorResult<unknown>> | IteratorResult<unknown>;
  /**
   * Stops the producer, because its items are no longer needed; errors that it throws are ignored. Resolves when it has
   * ended. Undefined if only the end of a pending `next` shows that.
   */
  stop(): Promise<void> | undefined;
}

/** Throws `TypeError` if the value is not a `StreamSource`. */
export function itemSource(given: unknown): ItemSource {
  if (typeof given === "object" && given !== null) {
    // Before its async iterator: that one would cancel only after a pending read.
    if (given instanceof ReadableStream) return readerSource(given.getReader());
    if (Symbol.asyncIterator in given) return iteratorSource((given as AsyncIterable<unknown>)[Symbol.asyncIterator]());
    if (Symbol.iterator in given) return iteratorSource((given as Iterable<unknown>)[Symbol.iterator]());
  }
  throw new TypeError("a stream must be an iterable or a ReadableStream");
}

/** Stops a source whose call was not started. */
export function leave(source: unknown): void {
  try {
    void itemSource(source).stop();
  } catch {
    // Not a valid source: the call's error already reports it.
  }
}

function readerSource(reader: ReadableStreamDefaultReader<unknown>): ItemSource {
  return {
    next: () => reader.read() as Promise<IteratorResult<unknown>>,
    stop: () => reader.cancel().catch(nothing),
  };
}

function iteratorSource(iterator: AsyncIterator<unknown> | Iterator<unknown>): ItemSource {
  return {
    next: () => iterator.next(),
    stop: () =>
      iterator.return &&
      Promise.resolve()
        .then(() => iterator.return?.())
        .then(nothing, nothing),
  };
}

function nothing(): void {}
