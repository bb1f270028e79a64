import type { Reply } from "./reply.js";

/** Sends all that `result` (what a streaming handler gave) yields, as fast as the caller takes it. Never rejects. */
export async function sendStream(reply: Reply, result: unknown): Promise<void> {
  reply.coalesce();
  reply.goesOn();
  try {
    const source = await result;
    const iterator = iterate(source);
    // At once, even while a `next` is pending; a generator runs its `finally` when that `next` settles.
    reply.onGivenUp = () => void stop(iterator);
    if (reply.over) void stop(iterator);
    while (!reply.over) {
      const { done, value } = await iterator.next();
      if (done === true) break;
      reply.item(value);
      if (!reply.flow.ready) await new Promise<void>((resolve) => reply.flow.wait(resolve));
    }
    reply.end();
  } catch (error) {
    reply.fail(error);
  }
}

type AnyIterator = AsyncIterator<unknown> | Iterator<unknown>;

function iterate(source: unknown): AnyIterator {
  if (typeof source === "object" && source !== null) {
    if (Symbol.asyncIterator in source) return (source as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    if (Symbol.iterator in source) return (source as Iterable<unknown>)[Symbol.iterator]();
    // Safari's streams are not iterable.
    if (source instanceof ReadableStream) return iterateReader(source.getReader());
  }
  throw new TypeError("a streaming handler must give an iterable or a ReadableStream");
}

function iterateReader(reader: ReadableStreamDefaultReader<unknown>): AsyncIterator<unknown> {
  return {
    next: () => reader.read() as Promise<IteratorResult<unknown>>,
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}

/** The producer's own failure on the way out has nobody to tell. */
async function stop(iterator: AnyIterator): Promise<void> {
  try {
    await iterator.return?.();
  } catch {}
}
