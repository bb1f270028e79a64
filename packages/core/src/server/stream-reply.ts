import type { Reply } from "./reply.js";

/** Bytes of the buffer that items of one turn gather in, at first. */
const BUFFER = 1024;

/** Sends all that `result` (what a streaming handler gave) yields, as fast as the caller takes it. Never rejects. */
export async function sendStream(reply: Reply, result: unknown): Promise<void> {
  let source: Source | undefined;
  // At once, even while a `next` is pending; a generator runs its `finally` when that `next` settles.
  reply.onGivenUp = () => source?.stop();
  reply.coalesce(BUFFER);
  reply.goesOn();
  try {
    source = sourceOf(await result);
    if (reply.over) source.stop();
    while (!reply.over) {
      const { done, value } = await source.next();
      if (done === true) break;
      if (!sendItem(reply, value)) source.stop();
      else if (!reply.flow.ready) await new Promise<void>((resolve) => reply.flow.wait(resolve));
    }
    reply.end();
  } catch (error) {
    reply.fail(error);
  }
}

/** Whether the item could be sent; if not, the call has failed. */
function sendItem(reply: Reply, item: unknown): boolean {
  try {
    reply.item(item);
    return true;
  } catch (error) {
    reply.fail(error);
    return false;
  }
}

/** What a streaming handler gave, whichever form it has. */
interface Source {
  next(): PromiseLike<IteratorResult<unknown>> | IteratorResult<unknown>;
  /** Tells the producer that nobody listens. Its own failure on the way out has nobody to tell. */
  stop(): void;
}

function sourceOf(given: unknown): Source {
  if (typeof given === "object" && given !== null) {
    // Before its iterator: that one would cancel only after a pending read.
    if (given instanceof ReadableStream) return readerSource(given.getReader());
    if (Symbol.asyncIterator in given) return iteratorSource((given as AsyncIterable<unknown>)[Symbol.asyncIterator]());
    if (Symbol.iterator in given) return iteratorSource((given as Iterable<unknown>)[Symbol.iterator]());
  }
  throw new TypeError("a streaming handler must give an iterable or a ReadableStream");
}

function readerSource(reader: ReadableStreamDefaultReader<unknown>): Source {
  return {
    next: () => reader.read() as Promise<IteratorResult<unknown>>,
    stop: () => {
      reader.cancel().catch(() => {});
    },
  };
}

function iteratorSource(iterator: AsyncIterator<unknown> | Iterator<unknown>): Source {
  return {
    next: () => iterator.next(),
    stop: () => {
      Promise.resolve()
        .then(() => iterator.return?.())
        .catch(() => {});
    },
  };
}
